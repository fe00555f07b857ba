"""Factors of a row-permuted matrix: lower times upper triangular."""

from typing import Any, Final

from tans_core import Array, Primitive
from tans_xla.sizes import as_int

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

lu_p: Final = Primitive("lu", family=__name__, multiple_results=True)
lu_pivots_to_permutation_p: Final = Primitive("lu_pivots_to_permutation", family=__name__)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Factor matrices as ``x[permutation] = L @ U`` with partial pivoting.

    Args:
      x: ``[*batch, m, n]``, real or complex.

    Returns:
      ``(lu, pivots, permutation)``: `U` in the upper triangle of `lu` and `L`, whose diagonal is
      one, below it; int32 `pivots` ``[*batch, min(m, n)]``, where row ``i`` was exchanged with row
      ``pivots[i]``, and the int32 `permutation` ``[*batch, m]`` that these exchanges make.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.

    Example:
      >>> import numpy as np
      >>> factors, pivots, permutation = lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> factors.tolist(), permutation.tolist()
      ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    factors, pivots, permutation = lu_p.bind(x)
    return factors, pivots, permutation


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Return the permutation that row exchanges make.

    Args:
      pivots: ``[*batch, k]`` integers; row ``i`` is exchanged with row ``pivots[i]``, in order.
      permutation_size: number of rows, at least `k`.

    Returns:
      ``[*batch, permutation_size]`` of the dtype of `pivots`.

    Raises:
      TypeError: `pivots` are not integers.
      ValueError: `permutation_size` is smaller than `k`.

    Example:
      >>> import numpy as np
      >>> lu_pivots_to_permutation(np.array([2, 2]), 3).tolist()
      [2, 0, 1]
    """
    size = as_int(permutation_size)
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=size)
