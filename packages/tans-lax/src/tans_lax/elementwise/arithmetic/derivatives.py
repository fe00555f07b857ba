"""Derivatives of the arithmetic operations."""

from typing import Any, Final

from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import (
    abs_p,
    add_any_p,
    add_p,
    div,
    div_p,
    max_p,
    min_p,
    mul,
    mul_p,
    neg,
    neg_p,
    rem_p,
    sign,
    sign_p,
    sub,
    sub_p,
)
from tans_lax.elementwise.comparison import eq, ge, gt
from tans_lax.elementwise.complex_parts import complex, conj, imag, real
from tans_lax.elementwise.rounding import RoundingMethod, round
from tans_lax.elementwise.selection import select
from tans_lax.elementwise.tangents import div_tangent, mul_tangent
from tans_lax.mesh import as_factor
from tans_lax.rows import (
    Rule,
    add_tangents,
    jvp_of,
    jvp_of_output,
    linear_jvp,
    linear_transpose_of,
    not_linear,
    reduce_to_type,
)
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _sum_jvp(primitive: Primitive, combine: Any, second: Any) -> Rule:
    """Make the rule of a sum; a lone tangent is repeated to the shape of the result."""
    bind = primitive.bind

    def rule(primals: tuple[Value, Value], tangents: tuple[Value, Value]) -> tuple[Value, Value]:
        out = bind(*primals)
        x_dot, y_dot = tangents
        if type(x_dot) is Zero:
            if type(y_dot) is Zero:
                return out, zero_tangent(typeof(out))
            return out, broadcast_to_shape(second(y_dot), typeof(out).shape)
        if type(y_dot) is Zero:
            return out, broadcast_to_shape(x_dot, typeof(out).shape)
        return out, combine(x_dot, y_dot)

    return rule


def _sum_transpose(second: Any) -> Rule:
    def rule(ct: Value, x: Value, y: Value) -> tuple[Value, Value]:
        return (
            reduce_to_type(ct, x.aval) if type(x) is LinearInput else None,
            reduce_to_type(second(ct), y.aval) if type(y) is LinearInput else None,
        )

    return rule


def _same(x: Value) -> Value:
    return x


def _mul_transpose(ct: Value, x: Value, y: Value) -> tuple[Value, Value]:
    if type(x) is LinearInput:
        return reduce_to_type(mul_p.bind(ct, as_factor(y, ct)), x.aval), None
    return None, reduce_to_type(mul_p.bind(as_factor(x, ct), ct), y.aval)


def _div_transpose(ct: Value, x: Value, y: Value) -> tuple[Value, None]:
    if type(y) is LinearInput:
        not_linear(ct, x, y)
    return reduce_to_type(div_p.bind(ct, as_factor(y, ct)), x.aval), None


def _sign_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    y = sign(x)
    if type(x_dot) is Zero or typeof(x).dtype.kind != "c":
        return y, zero_tangent(typeof(y))
    # Only the part of the tangent across z turns it: y_dot = i y Im(conj(y) z_dot) / |z|.
    size = abs_p.bind(x)
    safe = select(eq(size, 0.0), full_like(size, 1), size)
    turn = div(imag(mul(conj(y), x_dot)), safe)
    return y, mul(y, complex(full_like(turn, 0), turn))


def _abs_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    y = abs_p.bind(x)
    if type(x_dot) is Zero:
        return y, zero_tangent(typeof(y))
    if typeof(x).dtype.kind == "c":
        return y, real(mul(conj(sign(x)), x_dot))
    return y, select(ge(x, 0.0), x_dot, neg(x_dot))


def _div_jvp_denominator(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    # Reads y and the result, which are saved anyway, and makes no residual of its own.
    return mul_tangent(neg(div_tangent(y_dot, y)), out)


def _rem_jvp_numerator(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    return broadcast_to_shape(x_dot, typeof(out).shape)


def _rem_jvp_denominator(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    # x - out is a whole multiple of y up to rounding: no truncation of x / y is needed.
    return mul(y_dot, neg(round(div(sub(x, out), y), RoundingMethod.TO_NEAREST_EVEN)))


def _share(winner: Value, loser: Value, out: Value) -> Value:
    """Return 1 where `winner` exceeds `loser`, 1/2 on a tie, else 0 (nan exceeds nothing).

    Where the share is 0 the cotangent may be infinite, as that of sqrt(max(x, 0)) is: `mul_tangent`
    with the share in front keeps it at 0.
    """
    one, half, zero = (full_like(out, v) for v in (1, 0.5, 0))
    return select(gt(winner, loser), one, select(eq(winner, loser), half, zero))


def _max_jvp_first(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    return mul_tangent(_share(x, y, out), x_dot)


def _max_jvp_second(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    return mul_tangent(_share(y, x, out), y_dot)


def _min_jvp_first(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    return mul_tangent(_share(y, x, out), x_dot)


def _min_jvp_second(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    return mul_tangent(_share(x, y, out), y_dot)


JVP: Final[dict[Primitive, Rule]] = {
    neg_p: linear_jvp(neg_p),
    sign_p: _sign_jvp,
    abs_p: _abs_jvp,
    add_p: _sum_jvp(add_p, add_p.bind, _same),
    sub_p: _sum_jvp(sub_p, sub_p.bind, neg),
    mul_p: jvp_of(mul_p, lambda t, x, y: mul_p.bind(t, y), lambda t, x, y: mul_p.bind(x, t)),
    div_p: jvp_of_output(div_p, lambda t, out, x, y: div_p.bind(t, y), _div_jvp_denominator),
    rem_p: jvp_of_output(rem_p, _rem_jvp_numerator, _rem_jvp_denominator),
    max_p: jvp_of_output(max_p, _max_jvp_first, _max_jvp_second),
    min_p: jvp_of_output(min_p, _min_jvp_first, _min_jvp_second),
    add_any_p: _sum_jvp(add_any_p, add_tangents, _same),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    neg_p: linear_transpose_of(lambda ct, x: neg(ct)),
    sign_p: not_linear,
    abs_p: not_linear,
    add_p: _sum_transpose(_same),
    sub_p: _sum_transpose(neg),
    mul_p: _mul_transpose,
    div_p: _div_transpose,
    rem_p: not_linear,
    max_p: not_linear,
    min_p: not_linear,
    add_any_p: _sum_transpose(_same),
}
