"""Derivatives of exponentials and logarithms.

None of them forms a difference that vanishes where the function saturates: the slope of `expm1` is
exp(x) and not ``out + 1``, that of `logistic` is s(x) s(-x) and not s (1 - s).
"""

import math
from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.exponential import (
    exp,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    logistic_slope,
    logistic_slope_p,
)
from tans_lax.elementwise.tangents import div_tangent
from tans_lax.elementwise.trigonometric import tanh
from tans_lax.rows import Rule, jvp_of, jvp_of_output, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _exp_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul(t, out)


def _exp2_part(t: Value, out: Value, x: Value, **params: Any) -> Value:
    return mul(t, mul(math.log(2), out))


def _expm1_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, exp(x))


def _log_part(t: Value, x: Value, **params: Any) -> Value:
    return div_tangent(t, x)


def _log1p_part(t: Value, x: Value, **params: Any) -> Value:
    return div_tangent(t, add(x, 1.0))


def _log2_part(t: Value, x: Value, **params: Any) -> Value:
    return div_tangent(t, mul(math.log(2), x))


def _logistic_part(t: Value, x: Value, **params: Any) -> Value:
    return mul(t, logistic_slope(x))


def _logistic_slope_part(t: Value, out: Value, x: Value) -> Value:
    # s(-x) - s(x) = -tanh(x / 2)
    return mul(t, mul(out, tanh(mul(-0.5, x))))


JVP: Final[dict[Primitive, Rule]] = {
    exp_p: jvp_of_output(exp_p, _exp_part),
    exp2_p: jvp_of_output(exp2_p, _exp2_part),
    expm1_p: jvp_of(expm1_p, _expm1_part),
    log_p: jvp_of(log_p, _log_part),
    log1p_p: jvp_of(log1p_p, _log1p_part),
    log2_p: jvp_of(log2_p, _log2_part),
    logistic_p: jvp_of(logistic_p, _logistic_part),
    logistic_slope_p: jvp_of_output(logistic_slope_p, _logistic_slope_part),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    exp_p: not_linear,
    exp2_p: not_linear,
    expm1_p: not_linear,
    log_p: not_linear,
    log1p_p: not_linear,
    log2_p: not_linear,
    logistic_p: not_linear,
    logistic_slope_p: not_linear,
}
