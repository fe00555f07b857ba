"""Derivatives of determinants (Jacobi's formula) and of cofactors.

The cofactors of ``S + E`` with diagonal `S`, to first order in `E`: on the diagonal the sum over
`j` of ``e_jj p_ij``, elsewhere ``-e_ji p_ij``, where ``p_ij`` is the product of all singular values
but `i` and `j`. A determinant is a polynomial, and so are these: nothing is divided by what may
vanish.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.determinants import cofactors, cofactors_p, det_p
from tans_lax.linalg.determinants.spectral import factored, from_basis, products_without_two
from tans_lax.linalg.matrices import (
    adjoint,
    diagonal,
    diagonal_mask,
    matmul,
    spread,
    transposed,
)
from tans_lax.rows import jvp_of, not_linear

type Value = Any


def _det_part(x_dot: Value, x: Value) -> Value:
    ndim = typeof(x).ndim
    return lax.reduce_sum(lax.mul(cofactors(x), x_dot), (ndim - 2, ndim - 1))


def _cofactors_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    out = cofactors_p.bind(x)
    if type(x_dot) is Zero or typeof(x).shape[-1] < 2:
        return out, zero_tangent(typeof(out))
    phase, u, s, vh = factored(x)
    e = matmul(adjoint(u), matmul(x_dot, adjoint(vh)))
    p = lax.convert_element_type(products_without_two(s), typeof(e).dtype)
    sums = matmul(p, lax.expand_dims(diagonal(e), (typeof(e).ndim - 1,)))
    on_diagonal = spread(lax.squeeze(sums, (typeof(e).ndim - 1,)), e, -2)
    inner = lax.select(diagonal_mask(e), on_diagonal, lax.neg(lax.mul(p, transposed(e))))
    return out, from_basis(phase, u, inner, vh)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    det_p: jvp_of(det_p, _det_part),
    cofactors_p: _cofactors_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    det_p: not_linear,
    cofactors_p: not_linear,
}
