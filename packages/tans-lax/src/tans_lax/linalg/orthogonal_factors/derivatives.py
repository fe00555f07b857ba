"""Derivatives of QR factors.

Let ``k = min(m, n)``, ``R1`` the first `k` columns of `R`, and complete `Q` to a square matrix.
Then ``W = Q^H dQ`` is skew-Hermitian and ``Q^H dA = W R + dR``. Below the diagonal of the first `k`
columns `dR` is zero, so there ``W = Q^H dA R1^-1``; the diagonal of `W` is imaginary, since that
of `R` stays real. The part of `W` between completing columns is free and taken as zero.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.matrices import adjoint, diagonal_mask, leading, lower_part, matmul
from tans_lax.linalg.orthogonal_factors import geqrf_p, householder_product_p, ormqr_p, qr_p
from tans_lax.linalg.row_gather import take_columns
from tans_lax.linalg.triangular_systems import triangular_solve
from tans_lax.rows import not_differentiable, not_linear
from tans_xla.sizes import is_always_at_least, min_size

type Value = Any


def _skew(x: Value) -> Value:
    """Return the skew-Hermitian matrix whose part below the diagonal is that of `x`."""
    below = lower_part(x, -1)
    skew = lax.sub(below, adjoint(below))
    if typeof(x).dtype.kind != "c":
        return skew
    turn = lax.complex(lax.full_like(lax.imag(x), 0), lax.imag(x))
    return lax.select(diagonal_mask(x), turn, skew)


def _qr_jvp(
    primals: tuple[Value], tangents: tuple[Value], *, pivoting: bool, **params: Any
) -> tuple[list[Value], list[Value]]:
    (x_dot,) = tangents
    outs = qr_p.bind(*primals, pivoting=pivoting, **params)
    q, r, *rest = outs
    no_tangents = [zero_tangent(typeof(x)) for x in outs]
    if type(x_dot) is Zero:
        return outs, no_tangents
    if pivoting:
        x_dot = take_columns(x_dot, rest[0])
    k = min_size(*typeof(x_dot).shape[-2:])
    rotated = matmul(adjoint(q), x_dot)
    upper = leading(leading(r, k, -1), k, -2)
    change = triangular_solve(upper, leading(x_dot, k, -1), left_side=False, lower=False)
    inner = matmul(adjoint(q), change)
    columns = typeof(q).shape[-1]
    if not is_always_at_least(k, columns):
        wider = [(0, 0, 0)] * (typeof(q).ndim - 1) + [(0, columns - k, 0)]
        inner = lax.pad(inner, typeof(q).dtype.type(0), wider)
    w = _skew(inner)
    q_dot = matmul(q, w)
    if not is_always_at_least(columns, typeof(q).shape[-2]):
        # What leaves the span of a thin Q.
        q_dot = lax.add(q_dot, lax.sub(change, matmul(q, inner)))
    r_dot = lax.sub(rotated, matmul(w, r))
    return outs, [q_dot, r_dot, *no_tangents[2:]]


def _ormqr_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
) -> tuple[Value, Value]:
    if any(type(t) is not Zero for t in tangents[:2]):
        return _fixed_reflectors(primals, tangents, **params)
    out = ormqr_p.bind(*primals, **params)
    c_dot = tangents[2]
    if type(c_dot) is Zero:
        return out, zero_tangent(typeof(out))
    return out, _ormqr(*primals[:2], c_dot, **params)


_fixed_reflectors: Final = not_differentiable(
    "but the stored reflectors are no smooth function of a matrix; differentiate qr instead"
)


def _ormqr(a: Value, taus: Value, c: Value, **params: Any) -> Value:
    return ormqr_p.bind(a, taus, c, **params)


def _ormqr_transpose(
    ct: Value, a: Value, taus: Value, c: Value, *, left: bool, transpose: bool
) -> tuple[None, None, Value]:
    """Transpose without conjugation: conjugate, apply the adjoint, conjugate."""
    del c
    is_complex = typeof(ct).dtype.kind == "c"
    out = lax.conj(ct) if is_complex else ct
    out = _ormqr(a, taus, out, left=left, transpose=not transpose)
    return None, None, lax.conj(out) if is_complex else out


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    qr_p: _qr_jvp,
    geqrf_p: not_differentiable(
        "but the stored reflectors are no smooth function of a matrix; differentiate qr instead"
    ),
    householder_product_p: not_differentiable(
        "but the stored reflectors are no smooth function of a matrix; differentiate qr instead"
    ),
    ormqr_p: _ormqr_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    qr_p: not_linear,
    geqrf_p: not_linear,
    householder_product_p: not_linear,
    ormqr_p: _ormqr_transpose,
}
