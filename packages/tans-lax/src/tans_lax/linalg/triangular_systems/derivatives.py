"""Derivatives of triangular systems: linear in `b`, ``-a^-1 da x`` in the matrix."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.matrices import conjugate, lower_part, matmul, transposed, upper_part
from tans_lax.linalg.triangular_systems import triangular_solve, triangular_solve_p
from tans_lax.rows import add_tangents

type Value = Any


def _read_part(a: Value, lower: bool, unit_diagonal: bool) -> Value:
    """Zero what the solver doesn't read."""
    if lower:
        return lower_part(a, -1 if unit_diagonal else 0)
    return upper_part(a, 1 if unit_diagonal else 0)


def _solve_jvp(
    primals: tuple[Value, Value], tangents: tuple[Value, Value], **params: Any
) -> tuple[Value, Value]:
    a, b = primals
    a_dot, b_dot = tangents
    x = triangular_solve_p.bind(a, b, **params)
    x_dot: Any = zero_tangent(typeof(x))
    if type(a_dot) is not Zero:
        a_dot = _read_part(a_dot, params["lower"], params["unit_diagonal"])
        if params["transpose_a"]:
            a_dot = transposed(a_dot)
        if params["conjugate_a"]:
            a_dot = conjugate(a_dot)
        product = matmul(a_dot, x) if params["left_side"] else matmul(x, a_dot)
        x_dot = triangular_solve(a, lax.neg(product), **params)
    if type(b_dot) is not Zero:
        x_dot = add_tangents(x_dot, triangular_solve(a, b_dot, **params))
    return x, x_dot


def _solve_transpose(
    ct: Value, a: Value, b: Value, *, transpose_a: bool, conjugate_a: bool, **params: Any
) -> tuple[None, Value]:
    if type(a) is LinearInput:
        raise NotImplementedError(
            f"can't transpose triangular_solve: its matrix {a.aval.str_short()} depends on a "
            "linear input, but the solution is not linear in it; expected a fixed matrix. "
            "Transpose linear functions only."
        )
    if conjugate_a:
        # The transpose of the adjoint is the conjugate, which the solvers don't offer.
        out = triangular_solve(conjugate(a), ct, transpose_a=False, **params)
    else:
        out = triangular_solve(a, ct, transpose_a=not transpose_a, **params)
    return None, out if type(b) is LinearInput else None


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    triangular_solve_p: _solve_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    triangular_solve_p: _solve_transpose,
}
