"""Triangular systems of equations."""

from typing import Any, Final

from tans_core import Array, Primitive, typeof
from tans_lax.linalg.matrices import conjugate
from tans_lax.shape import expand_dims, squeeze

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

triangular_solve_p: Final = Primitive("triangular_solve", family=__name__)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve ``op(a) @ x = b`` or ``x @ op(a) = b`` with triangular `a`.

    Args:
      a: ``[*batch, m, m]``; only one triangle is read.
      b: ``[*batch, m, n]`` when `left_side`, else ``[*batch, n, m]``; or a vector ``[*batch, m]``.
      left_side: whether `a` stands to the left of the unknown.
      lower: whether the lower triangle is read.
      transpose_a: whether ``op`` transposes.
      conjugate_a: whether ``op`` conjugates.
      unit_diagonal: whether the diagonal counts as ones, unread.

    Returns:
      The solutions, of the shape of `b`; inf or nan where `a` is singular.

    Raises:
      TypeError: the dtypes or batches differ, or are not numbers that solvers take.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
      >>> triangular_solve(a, np.array([2.0, 9.0]), left_side=True, lower=True).tolist()
      [1.0, 2.0]
    """
    a_aval: Any = typeof(a)
    b_aval: Any = typeof(b)
    conjugate_a = bool(conjugate_a) and a_aval.dtype.kind == "c"
    is_vector = b_aval.ndim == a_aval.ndim - 1
    axis = b_aval.ndim if left_side else b_aval.ndim - 1
    if is_vector:
        b = expand_dims(b, (axis,))
    if conjugate_a and not transpose_a:  # the solvers conjugate only what they transpose
        a, conjugate_a = conjugate(a), False
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=conjugate_a,
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze(out, (axis,)) if is_vector else out
