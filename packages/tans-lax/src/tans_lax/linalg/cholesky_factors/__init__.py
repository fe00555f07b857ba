"""Cholesky factors, and their update by a rank-one term."""

from typing import Any, Final

from tans_core import Array, Primitive, typeof
from tans_lax.linalg.checks import check_square
from tans_lax.linalg.matrices import lower_part, symmetrized

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

cholesky_p: Final = Primitive("cholesky", family=__name__)
cholesky_update_p: Final = Primitive("cholesky_update", family=__name__)


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Factor Hermitian positive-definite matrices as ``L @ L^H``.

    Args:
      x: ``[*batch, n, n]``, real or complex.
      symmetrize_input: whether to factor ``(x + x^H) / 2``; otherwise only the lower triangle of
        `x` is read.

    Returns:
      Lower-triangular matrices of the same shape. Where `x` isn't positive definite, the triangle
      is nan.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
      [[2.0, 0.0], [1.0, 2.0]]
    """
    aval: Any = typeof(x)
    if aval.ndim < 2:
        raise ValueError(
            f"cholesky: given {aval.str_short(short_dtypes=False)}, expected square matrices of "
            "shape [*batch, n, n]. Add the missing dimensions with lax.expand_dims."
        )
    check_square("cholesky", aval)
    return lower_part(cholesky_p.bind(symmetrized(x) if symmetrize_input else x))


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Return the upper factor of ``r^H @ r + w @ w^H``, given the upper factor `r`.

    Args:
      r_matrix: ``[*batch, n, n]``, upper triangular, real.
      w_vector: ``[*batch, n]``.

    Returns:
      Upper-triangular matrices of the shape of `r_matrix`.

    Raises:
      TypeError: the dtypes or batches differ, or are complex.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> cholesky_update(np.array([[3.0]]), np.array([4.0])).tolist()
      [[5.0]]

    References:
      Golub and Van Loan, "Matrix Computations", 4th edition, section 6.5.4.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)
