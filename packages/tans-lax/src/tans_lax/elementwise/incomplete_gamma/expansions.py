"""The incomplete gamma functions P(a, x) and Q = 1 - P, with their derivatives in a.

With the prefactor f = x**a exp(-x) / gamma(a),

    P = f S / a,  S = 1 + x/(a+1) + x**2/((a+1)(a+2)) + ...
    Q = f K,      K = 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...)))

The series serves x <= a or x <= 1, the fraction the rest. Derivatives of S and K in a are carried
along term by term, and log(f)' = log(x) - digamma(a).

References:
  DLMF 8.11.4, 8.9.2 (https://dlmf.nist.gov/8).
  Press et al., "Numerical Recipes", section 6.2 (Lentz's method).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_lax.control_flow.while_loop import while_loop
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import abs as abs_
from tans_lax.elementwise.arithmetic import add, div, mul, neg, sub
from tans_lax.elementwise.bitwise import bitwise_and, bitwise_not, bitwise_or
from tans_lax.elementwise.comparison import eq, gt, le, lt, ne
from tans_lax.elementwise.exponential import exp, log
from tans_lax.elementwise.selection import select
from tans_lax.elementwise.special import digamma, lgamma
from tans_lax.reductions import reduce_or

type Value = Any
type Loop = tuple[Value, ...]

_MAX_TERMS = 10_000


def lower(a: Value, x: Value) -> Value:
    """Compute P(a, x)."""
    return _by_region(
        a,
        x,
        series=lambda f, s, ds: div(mul(f, s), a),
        fraction=lambda f, k, dk: sub(_like(a, 1), mul(f, k)),
        at_zero=0,
        at_infinity=1,
        has_pole=True,
    )


def upper(a: Value, x: Value) -> Value:
    """Compute Q(a, x)."""
    return _by_region(
        a,
        x,
        series=lambda f, s, ds: sub(_like(a, 1), div(mul(f, s), a)),
        fraction=lambda f, k, dk: mul(f, k),
        at_zero=1,
        at_infinity=0,
        has_pole=True,
    )


def lower_slope(a: Value, x: Value) -> Value:
    """Compute dP/da."""
    return _by_region(
        a,
        x,
        series=lambda f, s, ds: mul(f, _series_slope(a, x, s, ds)),
        fraction=lambda f, k, dk: neg(mul(f, _fraction_slope(a, x, k, dk))),
        at_zero=0,
        at_infinity=0,
    )


def sample_slope(a: Value, x: Value) -> Value:
    """Compute dx/da = -(dP/da) / (dP/dx), where dP/dx = f / x."""
    return _by_region(
        a,
        x,
        series=lambda f, s, ds: neg(mul(x, _series_slope(a, x, s, ds))),
        fraction=lambda f, k, dk: mul(x, _fraction_slope(a, x, k, dk)),
        at_zero=0,
        at_infinity=np.inf,
    )


def _series_slope(a: Value, x: Value, s: Value, ds: Value) -> Value:
    # (S / a)' + log(f)' S / a
    log_slope = sub(sub(log(x), digamma(a)), div(_like(a, 1), a))
    return div(add(ds, mul(s, log_slope)), a)


def _fraction_slope(a: Value, x: Value, k: Value, dk: Value) -> Value:
    return add(dk, mul(k, sub(log(x), digamma(a))))


def _like(x: Value, value: float) -> Value:
    return typeof(x).dtype.type(value)


def _by_region(
    a: Value,
    x: Value,
    *,
    series: Callable[[Value, Value, Value], Value],
    fraction: Callable[[Value, Value, Value], Value],
    at_zero: float,
    at_infinity: float,
    has_pole: bool = False,
) -> Value:
    is_zero, is_infinite = eq(x, _like(x, 0)), eq(x, _like(x, np.inf))
    # `not` also catches nan.
    # At a = 0 all of the mass lies at x = 0, as at x = inf it lies below.
    at_pole = bitwise_and(eq(a, _like(a, 0)), gt(x, _like(x, 0)))
    is_valid = bitwise_and(gt(a, _like(a, 0)), bitwise_not(lt(x, _like(x, 0))))
    is_valid = bitwise_and(is_valid, bitwise_and(eq(x, x), ne(a, _like(a, np.inf))))
    is_plain = bitwise_and(is_valid, bitwise_not(bitwise_or(is_zero, is_infinite)))
    by_series = bitwise_or(le(x, a), le(x, _like(x, 1)))

    one = full_like(x, 1)
    f = exp(sub(sub(mul(a, log(select(is_plain, x, one))), x), lgamma(select(is_plain, a, one))))
    s, ds = _sum_series(a, x, bitwise_and(is_plain, by_series))
    k, dk = _evaluate_fraction(a, x, bitwise_and(is_plain, bitwise_not(by_series)))
    out = select(by_series, series(f, s, ds), fraction(f, k, dk))
    out = select(is_zero, full_like(out, at_zero), out)
    out = select(is_infinite, full_like(out, at_infinity), out)
    out = select(is_valid, out, full_like(out, np.nan))
    return select(at_pole, full_like(out, at_infinity if has_pole else np.nan), out)


def _repeat(body: Callable[[Value, Loop], tuple[Loop, Value]], start: Loop, active: Value) -> Loop:
    """Improve every active element until it says that it is done.

    `body` maps the number of the term and the state to a new state and whether to go on.
    """

    def go_on(loop: tuple[Value, Value, Loop]) -> Value:
        i, alive, _ = loop
        some = reduce_or(alive, tuple(range(typeof(alive).ndim))) if typeof(alive).ndim else alive
        return bitwise_and(some, lt(i, _like(i, _MAX_TERMS)))

    def step(loop: tuple[Value, Value, Loop]) -> tuple[Value, Value, Loop]:
        i, alive, state = loop
        i = add(i, _like(i, 1))
        new, more = body(i, state)
        kept = tuple(select(alive, n, o) for n, o in zip(new, state, strict=True))
        return i, bitwise_and(alive, more), kept

    first = typeof(start[0]).dtype.type(0)
    return while_loop(go_on, step, (first, active, start))[2]


def _is_relevant(part: Value, total: Value) -> Value:
    return gt(abs_(part), mul(abs_(total), _like(total, finfo(typeof(total).dtype).eps)))


def _sum_series(a: Value, x: Value, active: Value) -> tuple[Value, Value]:
    def add_term(i: Value, state: Loop) -> tuple[Loop, Value]:
        c, dc, s, ds = state
        r = add(a, i)
        factor = div(x, r)
        dc = sub(mul(dc, factor), div(mul(c, factor), r))
        c = mul(c, factor)
        s, ds = add(s, c), add(ds, dc)
        return (c, dc, s, ds), bitwise_or(_is_relevant(c, s), _is_relevant(dc, ds))

    zero, one = full_like(x, 0), full_like(x, 1)
    _, _, s, ds = _repeat(add_term, (one, zero, one, zero), active)
    return s, ds


def _evaluate_fraction(a: Value, x: Value, active: Value) -> tuple[Value, Value]:
    one = _like(x, 1)

    def add_level(i: Value, state: Loop) -> tuple[Loop, Value]:
        c, dc, d, dd, k, dk = state
        top = mul(neg(i), sub(i, a))
        bottom = add(sub(add(x, one), a), add(i, i))
        # top' = i and bottom' = -1 in a.
        new_c = add(bottom, div(top, c))
        dc = sub(sub(div(i, c), mul(div(top, mul(c, c)), dc)), one)
        ratio = div(one, add(mul(top, d), bottom))
        dd = neg(mul(mul(ratio, ratio), sub(add(mul(i, d), mul(top, dd)), one)))
        change = mul(new_c, ratio)
        d_change = add(mul(dc, ratio), mul(new_c, dd))
        dk = add(mul(dk, change), mul(k, d_change))
        k = mul(k, change)
        more = bitwise_or(
            _is_relevant(sub(change, one), change), _is_relevant(mul(k, d_change), dk)
        )
        return (new_c, dc, ratio, dd, k, dk), more

    d = div(one, sub(add(x, one), a))
    huge = full_like(x, 1 / finfo(typeof(x).dtype).tiny)
    _, _, _, _, k, dk = _repeat(
        add_level, (huge, full_like(x, 0), d, mul(d, d), d, mul(d, d)), active
    )
    return k, dk
