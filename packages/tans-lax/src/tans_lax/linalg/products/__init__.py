"""Products of a matrix with its own transpose."""

from typing import Any, Final

from tans_core import Array, Primitive
from tans_lax.elementwise.arithmetic import add
from tans_lax.linalg.matrices import lower_part, transposed

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

symmetric_product_p: Final = Primitive("symmetric_product", family=__name__)


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Compute ``alpha * a @ a^T + beta * c``.

    Args:
      a_matrix: ``[*batch, n, k]``, real or complex (transposed, not conjugated).
      c_matrix: ``[*batch, n, n]``, symmetric.
      alpha: weight of the product.
      beta: weight of `c_matrix`.
      symmetrize_output: whether to copy the lower triangle to the upper one; without it only the
        lower triangle is meaningful.

    Returns:
      ``[*batch, n, n]``.

    Raises:
      TypeError: the dtypes or batches differ, or are not numbers that solvers take.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> symmetric_product(np.array([[1.0], [2.0]]), np.zeros((2, 2))).tolist()
      [[1.0, 2.0], [2.0, 4.0]]
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if not symmetrize_output:
        return out
    return add(lower_part(out), transposed(lower_part(out, -1)))
