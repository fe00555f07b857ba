"""Derivatives of special functions."""

import math
from typing import Any, Final, NoReturn

from tans_core import Primitive, typeof
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import add, div, mul, neg, sign, sub
from tans_lax.elementwise.bessel import bessel_i0e
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.exponential import exp
from tans_lax.elementwise.powers import square
from tans_lax.elementwise.selection import select
from tans_lax.elementwise.special import (
    bessel_i1e_p,
    digamma,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    polygamma,
    polygamma_p,
    zeta,
    zeta_p,
)
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, jvp_of_output, not_linear

type Value = Any  # an array, a Python scalar or a tracer

_SLOPE_AT_0: Final = 2 / math.sqrt(math.pi)


def _erf_part(t: Value, x: Value) -> Value:
    return mul(t, mul(_SLOPE_AT_0, exp(neg(square(x)))))


def _erfc_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, mul(-_SLOPE_AT_0, exp(neg(square(x)))))


def _erf_inv_part(t: Value, out: Value, x: Value) -> Value:
    return mul_tangent(t, mul(1 / _SLOPE_AT_0, exp(square(out))))


def _lgamma_part(t: Value, x: Value) -> Value:
    return mul(t, digamma(x))


def _digamma_part(t: Value, x: Value) -> Value:
    return mul(t, polygamma(1.0, x))


def _polygamma_part_x(t: Value, m: Value, x: Value) -> Value:
    return mul(t, polygamma(add(m, 1.0), x))


def _zeta_part_q(t: Value, x: Value, q: Value) -> Value:
    return mul(t, mul(neg(x), zeta(add(x, 1.0), q)))


def _bessel_i1e_part(t: Value, out: Value, x: Value) -> Value:
    # i1e' = i0e - i1e (sign(x) + 1 / x); at 0 it is 1 / 2.
    is_zero = eq(x, typeof(x).dtype.type(0))
    y = select(is_zero, full_like(x, 1), x)
    slope = sub(bessel_i0e(x), mul(out, add(sign(y), div(1.0, y))))
    return mul(t, select(is_zero, full_like(x, 0.5), slope))


def _no_order_derivative(name: str) -> Any:
    def part(t: Value, *primals: Value) -> NoReturn:
        raise ValueError(
            f"lax.{name}: given a tangent for the first operand; expected it to be constant: "
            "no derivative in it is known. Apply stop_gradient to that operand."
        )

    return part


JVP: Final[dict[Primitive, Rule]] = {
    erf_p: jvp_of(erf_p, _erf_part),
    erfc_p: jvp_of(erfc_p, _erfc_part),
    erf_inv_p: jvp_of_output(erf_inv_p, _erf_inv_part),
    lgamma_p: jvp_of(lgamma_p, _lgamma_part),
    digamma_p: jvp_of(digamma_p, _digamma_part),
    polygamma_p: jvp_of(polygamma_p, _no_order_derivative("polygamma"), _polygamma_part_x),
    zeta_p: jvp_of(zeta_p, _no_order_derivative("zeta"), _zeta_part_q),
    bessel_i1e_p: jvp_of_output(bessel_i1e_p, _bessel_i1e_part),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    erf_p: not_linear,
    erfc_p: not_linear,
    erf_inv_p: not_linear,
    lgamma_p: not_linear,
    digamma_p: not_linear,
    polygamma_p: not_linear,
    zeta_p: not_linear,
    bessel_i1e_p: not_linear,
}
