"""Derivatives of trigonometric and hyperbolic functions.

Slopes are written without differences that vanish where the function saturates, and without
squares that overflow before the slope does.
"""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.elementwise.arithmetic import abs, add, div, max, min, mul, neg, sub
from tans_lax.elementwise.powers import one_minus_square, rsqrt, square
from tans_lax.elementwise.tangents import div_tangent, mul_tangent
from tans_lax.elementwise.trigonometric import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos,
    cos_p,
    cosh,
    cosh_p,
    sin,
    sin_p,
    sinh,
    sinh_p,
    tan_p,
    tanh,
    tanh_p,
    tanh_slope,
    tanh_slope_p,
)
from tans_lax.rows import Rule, jvp_of, jvp_of_output, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _sin_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, cos(x))


def _cos_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, neg(sin(x)))


def _tan_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul(t, add(1.0, square(out)))


def _asin_part(t: Value, x: Value) -> Value:
    return mul_tangent(t, rsqrt(one_minus_square(x)))


def _acos_part(t: Value, x: Value) -> Value:
    return mul_tangent(t, neg(rsqrt(one_minus_square(x))))


def _atan_part(t: Value, x: Value) -> Value:
    return div(t, add(1.0, square(x)))


def _atan2_part_ordinate(t: Value, y: Value, x: Value) -> Value:
    return mul(t, div(x, add(square(y), square(x))))


def _atan2_part_abscissa(t: Value, y: Value, x: Value) -> Value:
    return mul(t, div(neg(y), add(square(y), square(x))))


def _asinh_part(t: Value, x: Value) -> Value:
    """Compute ``t / sqrt(1 + x**2)``, scaled by the larger of 1 and x."""
    if typeof(x).dtype.kind == "c":
        return mul(t, rsqrt(add(1.0, square(x))))
    size = abs(x)
    larger, smaller = max(size, 1.0), min(size, 1.0)
    return mul(t, div(rsqrt(add(1.0, square(div(smaller, larger)))), larger))


def _acosh_part(t: Value, x: Value) -> Value:
    return mul_tangent(t, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))))


def _atanh_part(t: Value, x: Value) -> Value:
    return div_tangent(t, one_minus_square(x))


def _tanh_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, tanh_slope(x))


def _tanh_slope_part(t: Value, out: Value, x: Value) -> Value:
    return mul(t, mul(-2.0, mul(tanh(x), out)))


JVP: Final[dict[Primitive, Rule]] = {
    sin_p: jvp_of(sin_p, _sin_part),
    cos_p: jvp_of(cos_p, _cos_part),
    tan_p: jvp_of_output(tan_p, _tan_part),
    asin_p: jvp_of(asin_p, _asin_part),
    acos_p: jvp_of(acos_p, _acos_part),
    atan_p: jvp_of(atan_p, _atan_part),
    atan2_p: jvp_of(atan2_p, _atan2_part_ordinate, _atan2_part_abscissa),
    sinh_p: jvp_of(sinh_p, lambda t, x: mul(t, cosh(x))),
    cosh_p: jvp_of(cosh_p, lambda t, x: mul(t, sinh(x))),
    tanh_p: jvp_of(tanh_p, _tanh_part),
    asinh_p: jvp_of(asinh_p, _asinh_part),
    acosh_p: jvp_of(acosh_p, _acosh_part),
    atanh_p: jvp_of(atanh_p, _atanh_part),
    tanh_slope_p: jvp_of_output(tanh_slope_p, _tanh_slope_part),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    sin_p: not_linear,
    cos_p: not_linear,
    tan_p: not_linear,
    asin_p: not_linear,
    acos_p: not_linear,
    atan_p: not_linear,
    atan2_p: not_linear,
    sinh_p: not_linear,
    cosh_p: not_linear,
    tanh_p: not_linear,
    asinh_p: not_linear,
    acosh_p: not_linear,
    atanh_p: not_linear,
    tanh_slope_p: not_linear,
}
