"""Derivatives of powers and roots."""

import math
from typing import Any, Final

from tans_core import Primitive, Zero, dtypes, typeof, zero_tangent
from tans_lax.conversion import convert_element_type
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import div, mul, sub
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.exponential import log
from tans_lax.elementwise.operands import PYTHON_SCALARS
from tans_lax.elementwise.powers import (
    cbrt_p,
    integer_pow,
    integer_pow_p,
    one_minus_square_p,
    pow,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from tans_lax.elementwise.selection import select
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, jvp_of_output, not_linear

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _integer_pow_jvp(primals: tuple[Value], tangents: tuple[Value], *, y: int) -> Any:
    (x,), (x_dot,) = primals, tangents
    out = integer_pow_p.bind(x, y=y)
    if y == 0 or type(x_dot) is Zero:
        return out, zero_tangent(typeof(out))
    if y == 1:
        return out, x_dot
    if y == 2:
        return out, _square_part(x_dot, x)
    slope = integer_pow(x, y - 1)
    times = mul if y > 0 else mul_tangent
    return out, times(x_dot, mul(float(y), slope))


def _pow_jvp_base(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Return ``x_dot * y * x**(y - 1)``, 0 where y is 0 whatever x is."""
    if type(y) in PYTHON_SCALARS:
        if y == 0:
            return mul(x_dot, full_like(out, 0))
        return mul_tangent(x_dot, mul(float(y) if type(y) is int else y, pow(x, y - 1)))
    # x ** (y - 1) is infinite at x = 0, y = 0: there the exponent is left at 0 instead.
    one, zero = full_like(y, 1), full_like(y, 0)
    slope = pow(x, select(eq(y, zero), zero, sub(y, one)))
    factor = y if dtypes.is_inexact(typeof(y).dtype) else convert_element_type(y, typeof(x).dtype)
    return mul_tangent(x_dot, mul(factor, slope))


def _pow_jvp_exponent(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    # log(0) is replaced by log(1): 0 ** y stays 0 for positive y, so its slope in y is 0.
    if type(x) is float:
        log_x = math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
        return mul_tangent(y_dot, mul(log_x, out))
    safe = select(eq(x, 0.0), full_like(x, 1), x)
    return mul_tangent(y_dot, mul(log(safe), out))


def _sqrt_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul_tangent(t, div(0.5, out))


def _rsqrt_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul_tangent(t, mul(-0.5, div(out, x)))


def _cbrt_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul_tangent(t, mul(1 / 3, integer_pow(out, -2)))


def _square_part(t: Value, x: Value) -> Value:
    # Doubling the tangent keeps x for the backward pass, which is often kept anyway; 2 * x is not.
    return mul(mul(2.0, t), x)


def _one_minus_square_part(t: Value, x: Value) -> Value:
    return mul(mul(-2.0, t), x)


JVP: Final[dict[Primitive, Rule]] = {
    square_p: jvp_of(square_p, _square_part),
    integer_pow_p: _integer_pow_jvp,
    pow_p: jvp_of_output(pow_p, _pow_jvp_base, _pow_jvp_exponent),
    sqrt_p: jvp_of_output(sqrt_p, _sqrt_part),
    rsqrt_p: jvp_of_output(rsqrt_p, _rsqrt_part),
    cbrt_p: jvp_of_output(cbrt_p, _cbrt_part),
    one_minus_square_p: jvp_of(one_minus_square_p, _one_minus_square_part),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    square_p: not_linear,
    integer_pow_p: not_linear,
    pow_p: not_linear,
    sqrt_p: not_linear,
    rsqrt_p: not_linear,
    cbrt_p: not_linear,
    one_minus_square_p: not_linear,
}
