"""Determinants, and the cofactors that are their gradient."""

from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

det_p: Final = Primitive("det", family=__name__)
cofactors_p: Final = Primitive("cofactors", family=__name__)


def det(x: ArrayLike) -> Array:
    """Compute determinants; singular matrices have the derivatives of the polynomial too.

    Args:
      x: ``[*batch, n, n]``, real or complex.

    Returns:
      ``[*batch]``.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> round(float(det(np.array([[3.0, 1.0], [1.0, 2.0]]))), 4)
      5.0
    """
    return det_p.bind(x)


def cofactors(x: ArrayLike) -> Array:
    """Compute matrices of cofactors: ``det(x) * inv(x)^T`` where the inverse exists.

    Args:
      x: ``[*batch, n, n]``, real or complex; any rank.

    Returns:
      ``[*batch, n, n]``: at place ``(i, j)`` the derivative of the determinant by ``x[i, j]``.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> np.round(cofactors(np.array([[3.0, 1.0], [0.0, 2.0]])), 4).tolist()
      [[2.0, 0.0], [-1.0, 3.0]]
    """
    return cofactors_p.bind(x)
