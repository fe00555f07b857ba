"""The incomplete beta function by its continued fraction.

    I_x(a, b) = x**a (1 - x)**b / (a B(a, b)) * 1/(1 + d1/(1 + d2/(1 + ...)))

converges fast for x < (a + 1) / (a + b + 2); otherwise I_x(a, b) = 1 - I_(1-x)(b, a).

References:
  DLMF 8.17.22 (https://dlmf.nist.gov/8.17).
  Press et al., "Numerical Recipes", section 6.4 (Lentz's method).
"""

from typing import Any

import numpy as np

from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_lax.control_flow.while_loop import while_loop
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import abs as abs_
from tans_lax.elementwise.arithmetic import add, div, mul, neg, sub
from tans_lax.elementwise.bitwise import bitwise_and
from tans_lax.elementwise.comparison import eq, ge, gt, le, lt
from tans_lax.elementwise.exponential import exp, log, log1p
from tans_lax.elementwise.selection import select
from tans_lax.elementwise.special import lgamma
from tans_lax.reductions import reduce_or

type Value = Any

_MAX_LEVELS = 10_000


def incomplete_beta(a: Value, b: Value, x: Value) -> Value:
    """Compute I_x(a, b) for arrays of one shape."""
    kind = typeof(x).dtype.type
    zero, one = kind(0), kind(1)
    is_valid = bitwise_and(bitwise_and(gt(a, zero), gt(b, zero)), ge(x, zero))
    is_valid = bitwise_and(is_valid, le(x, one))
    is_plain = bitwise_and(is_valid, bitwise_and(gt(x, zero), lt(x, one)))
    # With one parameter 0 all of the mass lies at one end.
    inside = bitwise_and(ge(x, zero), le(x, one))
    all_below = bitwise_and(inside, bitwise_and(eq(a, zero), gt(b, zero)))
    none_below = bitwise_and(inside, bitwise_and(gt(a, zero), eq(b, zero)))
    half, ones = full_like(x, 0.5), full_like(x, 1)
    a, b, y = select(is_valid, a, ones), select(is_valid, b, ones), select(is_plain, x, half)

    swap = gt(y, div(add(a, one), add(add(a, b), kind(2))))
    log_front = add(mul(a, log(y)), mul(b, log1p(neg(y))))
    log_front = add(log_front, sub(lgamma(add(a, b)), add(lgamma(a), lgamma(b))))
    p, q, z = select(swap, b, a), select(swap, a, b), select(swap, sub(one, y), y)
    part = div(mul(exp(log_front), _fraction(p, q, z, is_plain)), p)
    out = select(swap, sub(one, part), part)
    out = select(is_plain, out, select(le(x, zero), full_like(x, 0), ones))
    out = select(is_valid, out, full_like(x, np.nan))
    return select(
        all_below, ones, select(none_below, select(lt(x, one), full_like(x, 0), ones), out)
    )


def _fraction(a: Value, b: Value, x: Value, active: Value) -> Value:
    kind = typeof(x).dtype.type
    one, two = kind(1), kind(2)
    total = add(a, b)

    def go_on(loop: tuple[Value, ...]) -> Value:
        m, alive = loop[:2]
        some = reduce_or(alive, tuple(range(typeof(alive).ndim))) if typeof(alive).ndim else alive
        return bitwise_and(some, lt(m, kind(_MAX_LEVELS)))

    def add_levels(loop: tuple[Value, ...]) -> tuple[Value, ...]:
        m, alive, c, d, h = loop
        am, a2m = add(a, m), add(a, mul(two, m))
        even = div(mul(mul(m, sub(b, m)), x), mul(sub(a2m, one), a2m))
        odd = neg(div(mul(mul(am, add(total, m)), x), mul(a2m, add(a2m, one))))
        new_c, new_d, even_change = _level(c, d, even)
        new_c, new_d, change = _level(new_c, new_d, odd)
        new_h = mul(h, mul(even_change, change))
        more = gt(abs_(sub(change, one)), kind(finfo(typeof(x).dtype).eps))
        c, d, h = (select(alive, n, o) for n, o in ((new_c, c), (new_d, d), (new_h, h)))
        return add(m, one), bitwise_and(alive, more), c, d, h

    def _level(c: Value, d: Value, term: Value) -> tuple[Value, Value, Value]:
        d = div(one, _away_from_0(add(one, mul(term, d))))
        c = _away_from_0(add(one, div(term, c)))
        return c, d, mul(c, d)

    d = div(one, _away_from_0(sub(one, div(mul(total, x), add(a, one)))))
    return while_loop(go_on, add_levels, (kind(1), active, full_like(x, 1), d, d))[4]


def _away_from_0(x: Value) -> Value:
    tiny = typeof(x).dtype.type(finfo(typeof(x).dtype).tiny)
    is_small = bitwise_and(lt(x, tiny), gt(x, neg(tiny)))
    return select(is_small, full_like(x, tiny), x)
