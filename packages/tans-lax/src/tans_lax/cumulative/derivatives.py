"""Derivatives of cumulative reductions.

A running sum is linear. The others carry (value, tangent) pairs through an associative scan whose
combination is linear in the tangents, so that it transposes.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, ShapedArray, Zero, typeof, zero_tangent
from tans_core.dtypes import is_complex
from tans_lax.control_flow.associative_scan import associative_scan
from tans_lax.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from tans_lax.rows import add_tangents, linear_jvp, linear_transpose_of, not_linear

type Value = Any
type Pair = tuple[Value, Value]
type CombinePairs = Callable[[Pair, Pair], Pair]


def _cumsum_transpose(ct: Value, x: ShapedArray, *, axis: int, reverse: bool) -> Value:
    del x
    return lax.cumsum(ct, axis, not reverse)


def _scanned_jvp(primitive: Primitive, combine: CombinePairs) -> Callable[..., Any]:
    def rule(
        primals: tuple[Value], tangents: tuple[Value], *, axis: int, reverse: bool
    ) -> tuple[Value, Value]:
        (x,), (x_dot,) = primals, tangents
        if type(x_dot) is Zero:
            out = primitive.bind(x, axis=axis, reverse=reverse)
            return out, zero_tangent(typeof(out))
        return associative_scan(combine, (x, x_dot), reverse=reverse, axis=axis)

    return rule


def _multiply(left: Pair, right: Pair) -> Pair:
    (a, a_dot), (b, b_dot) = left, right
    return lax.mul(a, b), add_tangents(lax.mul(a_dot, b), lax.mul(a, b_dot))


def _extremum(
    pick: Callable[[Value, Value], Value], at_least: Callable[[Value, Value], Value]
) -> CombinePairs:
    def combine(left: Pair, right: Pair) -> Pair:
        (a, a_dot), (b, b_dot) = left, right
        wins_a, wins_b = at_least(a, b), at_least(b, a)
        a_part = lax.mul(a_dot, _share(a, wins_a, wins_b))
        b_part = lax.mul(b_dot, _share(b, wins_b, wins_a))
        return pick(a, b), add_tangents(a_part, b_part)

    return combine


def _share(x: Value, wins: Value, loses: Value) -> Value:
    """Return 1 where `x` is the extremum, 1/2 on a tie and 0 where it is not or nan took part."""
    zero, half, one = (lax.full_like(x, share) for share in (0, 0.5, 1))
    return lax.select(wins, lax.select(loses, half, one), zero)


def _logaddexp(left: Pair, right: Pair) -> Pair:
    (a, a_dot), (b, b_dot) = left, right
    larger = lax.max(a, b)
    gap = lax.sub(lax.min(a, b), larger)
    total = lax.add(larger, lax.log1p(lax.exp(gap)))
    if is_complex(typeof(a).dtype):
        total = _principal(total)
    else:
        total = lax.select(lax.ne(gap, gap), lax.add(a, b), total)
    a_part = lax.mul(a_dot, _weight(a, total))
    b_part = lax.mul(b_dot, _weight(b, total))
    return total, add_tangents(a_part, b_part)


def _principal(z: Value) -> Value:
    """Bring the imaginary part of a logarithm into [-pi, pi]."""
    angle = lax.imag(z)
    turn = lax.full_like(angle, 2 * np.pi)
    turns = lax.round(lax.div(angle, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.complex(lax.real(z), lax.sub(angle, lax.mul(turns, turn)))


def _weight(x: Value, total: Value) -> Value:
    """Return exp(x - total), which is 1 where both are plus infinity."""
    return lax.exp(lax.sub(_finite(x), _finite(total)))


def _finite(x: Value) -> Value:
    return lax.select(lax.eq(x, lax.full_like(x, np.inf)), lax.full_like(x, 0), x)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    cumsum_p: linear_jvp(cumsum_p),
    cumprod_p: _scanned_jvp(cumprod_p, _multiply),
    cummax_p: _scanned_jvp(cummax_p, _extremum(lax.max, lax.ge)),
    cummin_p: _scanned_jvp(cummin_p, _extremum(lax.min, lax.le)),
    cumlogsumexp_p: _scanned_jvp(cumlogsumexp_p, _logaddexp),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    cumsum_p: linear_transpose_of(_cumsum_transpose),
    cumprod_p: not_linear,
    cummax_p: not_linear,
    cummin_p: not_linear,
    cumlogsumexp_p: not_linear,
}
