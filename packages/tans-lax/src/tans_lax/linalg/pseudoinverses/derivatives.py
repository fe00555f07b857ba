"""Derivatives of pseudoinverses, for changes that keep the rank.

``dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P``

References:
  Golub, Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
  variables separate", 1973.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.matrices import adjoint, matmul
from tans_lax.linalg.pseudoinverses import pinv_p
from tans_lax.rows import not_linear

type Value = Any


def _pinv_jvp(
    primals: tuple[Value, Value], tangents: tuple[Value, Value], *, hermitian: bool
) -> tuple[Value, Value]:
    a, rtol = primals
    a_dot, _ = tangents  # the cutoff only decides the rank
    p = pinv_p.bind(a, rtol, hermitian=hermitian)
    if type(a_dot) is Zero:
        return p, zero_tangent(typeof(p))
    p_dot = lax.neg(matmul(p, matmul(a_dot, p)))
    outside = matmul(matmul(p, adjoint(p)), adjoint(a_dot))
    p_dot = lax.add(p_dot, lax.sub(outside, matmul(matmul(outside, a), p)))
    outside = matmul(adjoint(a_dot), matmul(adjoint(p), p))
    return p, lax.add(p_dot, lax.sub(outside, matmul(p, matmul(a, outside))))


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    pinv_p: _pinv_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    pinv_p: not_linear,
}
