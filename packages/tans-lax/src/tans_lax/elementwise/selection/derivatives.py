"""Derivatives of choices between values."""

from typing import Any, Final

from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.creation import full_like
from tans_lax.elementwise.bitwise import bitwise_and
from tans_lax.elementwise.comparison import gt, lt
from tans_lax.elementwise.selection import clamp_p, select, select_n, select_n_p
from tans_lax.rows import Rule, instantiate_zeros, jvp_of_output, not_linear, zeros_like_aval
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _select_n_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, Value]:
    out = select_n_p.bind(*primals)
    case_dots = tangents[1:]
    if all(type(t) is Zero for t in case_dots):
        return out, zero_tangent(typeof(out))
    return out, select_n(primals[0], *map(instantiate_zeros, case_dots))


def _select_n_transpose(ct: Value, which: Value, *cases: Value) -> tuple[Value, ...]:
    if type(which) is LinearInput:
        not_linear(ct, which, *cases)
    zeros = zeros_like_aval(typeof(ct))
    count = range(len(cases))
    return (
        None,
        *(
            select_n(which, *(ct if j == i else zeros for j in count))
            if type(case) is LinearInput
            else None
            for i, case in enumerate(cases)
        ),
    )


def _where(pred: Value, tangent: Value, out: Value) -> Value:
    tangent = broadcast_to_shape(tangent, typeof(out).shape)
    return select(broadcast_to_shape(pred, typeof(out).shape), tangent, full_like(tangent, 0))


def _clamp_part_low(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    return _where(bitwise_and(gt(low, x), lt(low, high)), t, out)


def _clamp_part_x(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    return _where(bitwise_and(gt(x, low), lt(x, high)), t, out)


def _clamp_part_high(t: Value, out: Value, low: Value, x: Value, high: Value) -> Value:
    return _where(lt(high, x), t, out)


JVP: Final[dict[Primitive, Rule]] = {
    select_n_p: _select_n_jvp,
    clamp_p: jvp_of_output(clamp_p, _clamp_part_low, _clamp_part_x, _clamp_part_high),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    select_n_p: _select_n_transpose,
    clamp_p: not_linear,
}
