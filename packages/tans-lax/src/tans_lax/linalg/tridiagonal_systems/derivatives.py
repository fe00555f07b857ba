"""Derivatives of tridiagonal systems: linear in `b`, ``-A^-1 dA x`` in the matrix."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.matrices import spread
from tans_lax.linalg.tridiagonal_systems import tridiagonal_solve_p
from tans_lax.rows import add_tangents

type Value = Any


def _shifted(x: Value, axis: int, by: int) -> Value:
    """Return ``x[i - by]`` with zeros from outside."""
    aval = typeof(x)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (by, -by, 0)
    return lax.pad(x, aval.dtype.type(0), config)


def _times(dl: Value, d: Value, du: Value, x: Value) -> Value:
    """Multiply by the matrix with these diagonals, any of which may be a symbolic zero."""
    axis = typeof(x).ndim - 2
    total: Any = zero_tangent(typeof(x))
    for diagonal, by in ((dl, 1), (d, 0), (du, -1)):
        if type(diagonal) is not Zero:
            row = _shifted(x, axis, by) if by else x
            total = add_tangents(total, lax.mul(spread(diagonal, x, -2), row))
    return total


def _solve_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
) -> tuple[Value, Value]:
    *diagonals, _ = primals
    *diagonal_dots, b_dot = tangents
    x = tridiagonal_solve_p.bind(*primals, **params)
    change = _times(*diagonal_dots, x)
    right = b_dot if type(change) is Zero else add_tangents(b_dot, lax.neg(change))
    if type(right) is Zero:
        return x, zero_tangent(typeof(x))
    return x, tridiagonal_solve_p.bind(*diagonals, right, **params)


def _solve_transpose(
    ct: Value, dl: Value, d: Value, du: Value, b: Value, **params: Any
) -> tuple[None, None, None, Value]:
    if any(type(x) is LinearInput for x in (dl, d, du)):
        raise NotImplementedError(
            f"can't transpose tridiagonal_solve: a diagonal of {b.aval.str_short()}'s matrix "
            "depends on a linear input, but the solution is not linear in it; expected a fixed "
            "matrix. Transpose linear functions only."
        )
    axis = typeof(d).ndim - 1
    low, up = _shifted(du, axis, 1), _shifted(dl, axis, -1)
    out = tridiagonal_solve_p.bind(low, d, up, ct, **params)
    return None, None, None, out if type(b) is LinearInput else None


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    tridiagonal_solve_p: _solve_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    tridiagonal_solve_p: _solve_transpose,
}
