"""Derivatives of products of a tangent with a slope: linear in each factor where it counts."""

from typing import Any, Final

from tans_core import LinearInput, Primitive
from tans_lax.elementwise.arithmetic import div, mul, neg
from tans_lax.elementwise.tangents import div_tangent, div_tangent_p, mul_tangent, mul_tangent_p
from tans_lax.mesh import as_factor
from tans_lax.rows import Rule, jvp_of, not_linear, reduce_to_type

type Value = Any  # an array, a Python scalar or a tracer


def _mul_tangent_transpose(ct: Value, t: Value, slope: Value) -> tuple[Value, Value]:
    if type(t) is LinearInput:
        return reduce_to_type(mul(ct, as_factor(slope, ct)), t.aval), None
    return None, reduce_to_type(mul_tangent(as_factor(t, ct), ct), slope.aval)


def _div_tangent_transpose(ct: Value, t: Value, y: Value) -> tuple[Value, None]:
    if type(y) is LinearInput:
        not_linear(ct, t, y)
    return reduce_to_type(div(ct, as_factor(y, ct)), t.aval), None


def _denominator_part(y_dot: Value, t: Value, y: Value) -> Value:
    return mul_tangent(t, neg(div(div(y_dot, y), y)))


JVP: Final[dict[Primitive, Rule]] = {
    mul_tangent_p: jvp_of(
        mul_tangent_p,
        lambda t_dot, t, slope: mul_tangent(t_dot, slope),
        lambda slope_dot, t, slope: mul_tangent(t, slope_dot),
    ),
    div_tangent_p: jvp_of(
        div_tangent_p, lambda t_dot, t, y: div_tangent(t_dot, y), _denominator_part
    ),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    mul_tangent_p: _mul_tangent_transpose,
    div_tangent_p: _div_tangent_transpose,
}
