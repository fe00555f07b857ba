"""Tridiagonal systems of equations."""

from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

tridiagonal_solve_p: Final = Primitive("tridiagonal_solve", family=__name__)


def tridiagonal_solve(
    dl: ArrayLike,
    d: ArrayLike,
    du: ArrayLike,
    b: ArrayLike,
    *,
    perturb_singular: bool = False,
) -> Array:
    """Solve ``A @ x = b`` with tridiagonal `A`.

    Args:
      dl: ``[*batch, m]``, below the diagonal: ``dl[i] = A[i, i - 1]``; ``dl[0]`` isn't read.
      d: ``[*batch, m]``, the diagonal.
      du: ``[*batch, m]``, above it: ``du[i] = A[i, i + 1]``; ``du[m - 1]`` isn't read.
      b: ``[*batch, m, n]``.
      perturb_singular: whether to replace vanishing pivots by tiny ones, for inverse iteration.

    Returns:
      The solutions, of the shape of `b`.

    Raises:
      TypeError: the dtypes or shapes differ, or are not numbers that solvers take.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> off, diagonal = np.zeros(2), np.array([2.0, 4.0])
      >>> tridiagonal_solve(off, diagonal, off, np.array([[2.0], [2.0]])).tolist()
      [[1.0], [0.5]]
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
