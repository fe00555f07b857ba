"""Pseudoinverses of Moore and Penrose."""

from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

pinv_p: Final = Primitive("pinv", family=__name__)


def pinv(x: ArrayLike, rtol: ArrayLike, *, hermitian: bool = False) -> Array:
    """Compute pseudoinverses; equal singular values do not harm the derivatives.

    Args:
      x: ``[*batch, m, n]``, real or complex.
      rtol: ``[*batch]``, real: singular values up to `rtol` times the largest count as zero.
      hermitian: whether the matrices are Hermitian, which makes it cheaper.

    Returns:
      ``[*batch, n, m]``.

    Raises:
      TypeError: the dtypes are not numbers that solvers take, or the batches differ.
      ValueError: `hermitian`, but the matrices are not square.

    Example:
      >>> import numpy as np
      >>> pinv(np.array([[2.0], [0.0]]), np.float32(1e-5)).tolist()
      [[0.5, 0.0]]
    """
    return pinv_p.bind(x, rtol, hermitian=bool(hermitian))
