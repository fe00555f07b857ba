"""Derivatives of Cholesky factors.

``A = L L^H`` gives ``L^-1 dA L^-H = L^-1 dL + (L^-1 dL)^H``. The first term on the right is lower
triangular with a real diagonal, so it is the lower half of the left side: ``dL = L half(M)``.

References:
  I. Murray, "Differentiation of the Cholesky decomposition", 2016.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.cholesky_factors import cholesky_p, cholesky_update_p
from tans_lax.linalg.matrices import (
    adjoint,
    diagonal_mask,
    lower_part,
    matmul,
    transposed,
    upper_part,
)
from tans_lax.linalg.triangular_systems import triangular_solve
from tans_lax.rows import add_tangents, not_linear

type Value = Any


def _halved_diagonal(x: Value) -> Value:
    half = lax.mul(x, typeof(x).dtype.type(0.5))
    return lax.select(diagonal_mask(x), half, x)


def _cholesky_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    factor = lower_part(cholesky_p.bind(*primals))
    (x_dot,) = tangents
    if type(x_dot) is Zero:
        return factor, zero_tangent(typeof(factor))
    half = _halved_diagonal(lower_part(x_dot))
    x_dot = lax.add(half, adjoint(half))  # only the lower triangle is read
    options: Any = {"left_side": False, "transpose_a": True, "conjugate_a": True, "lower": True}
    right = triangular_solve(factor, x_dot, **options)
    both = triangular_solve(factor, right, left_side=True, lower=True)
    return factor, matmul(factor, _halved_diagonal(lower_part(both)))


def _cholesky_update_jvp(
    primals: tuple[Value, Value], tangents: tuple[Value, Value]
) -> tuple[Value, Value]:
    """Differentiate ``R'^T R' = R^T R + w w^T``; the right side's tangent is symmetric."""
    r, w = primals
    r_dot, w_dot = tangents
    out = upper_part(cholesky_update_p.bind(r, w))
    half: Any = zero_tangent(typeof(out))  # half + half^T is the tangent of R'^T R'
    if type(r_dot) is not Zero:
        half = matmul(transposed(upper_part(r)), upper_part(r_dot))
    if type(w_dot) is not Zero:
        ndim = typeof(w).ndim
        column, row = lax.expand_dims(w, (ndim,)), lax.expand_dims(w_dot, (ndim - 1,))
        half = add_tangents(half, matmul(column, row))
    if type(half) is Zero:
        return out, half
    right = triangular_solve(out, lax.add(half, adjoint(half)), left_side=False, lower=False)
    both = triangular_solve(out, right, left_side=True, lower=False, transpose_a=True)
    return out, matmul(_halved_diagonal(upper_part(both)), out)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    cholesky_p: _cholesky_jvp,
    cholesky_update_p: _cholesky_update_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    cholesky_p: not_linear,
    cholesky_update_p: not_linear,
}
