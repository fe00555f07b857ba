"""A Poisson sample from one normal number z: the smallest k with P(X <= k) >= Phi(z), nearly.

For small means the distribution function is summed. For larger ones k starts from an expansion of
the quantile in 1 / sqrt(lam) and is corrected with a normal approximation of the distribution
function that is good to four digits.

References:
  Peizer, Pratt, "A normal approximation for binomial, F, beta, and other common, related tail
  probabilities", 1968.
  Abramowitz, Stegun, "Handbook of mathematical functions", 26.2.49 (expansions of quantiles).
"""

import math
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_random.implementations import Implementation
from tans_random.samplers.normal import real_normal

type Value = Any

_LARGE: Final = 7
_SUMMED: Final = 18  # terms that matter for means below _LARGE
_SERIES_TERMS: Final = 9


def approximate_poisson(words: Any, lam: Value, impl: Implementation) -> Value:
    """Sample for each element of `lam`; whole numbers of its dtype."""
    kind = typeof(lam).dtype.type
    z = real_normal(words, impl, typeof(lam).shape, typeof(lam).dtype)
    small, large = _by_summing(lam, z), _by_expansion(lam, z)
    return lax.select(lax.lt(lam, kind(_LARGE)), small, large)


def _normal_probability(z: Value) -> Value:
    kind = typeof(z).dtype.type
    root = kind(math.sqrt(0.5))
    x = lax.mul(z, root)
    size = lax.abs(x)
    upper = lax.erfc(size)
    tails = lax.select(lax.gt(x, kind(0)), lax.sub(kind(2), upper), upper)
    twice = lax.select(lax.lt(size, root), lax.add(kind(1), lax.erf(x)), tails)
    return lax.mul(kind(0.5), twice)


def _by_summing(lam: Value, z: Value) -> Value:
    kind = typeof(z).dtype.type
    bound = _normal_probability(z)
    term = total = lax.exp(lax.neg(lam))
    count = lax.convert_element_type(lax.lt(total, bound), typeof(lam).dtype)
    for k in range(1, _SUMMED + 1):
        term = lax.mul(term, lax.div(lam, kind(k)))
        total = lax.add(total, term)
        count = lax.add(count, lax.convert_element_type(lax.lt(total, bound), typeof(lam).dtype))
    return count


def _by_expansion(lam: Value, z: Value) -> Value:
    kind = typeof(z).dtype.type
    root, z2 = lax.sqrt(lam), lax.square(z)
    start = lax.sub(lax.add(lam, lax.mul(root, z)), kind(2 / 3))
    start = lax.add(start, lax.div(z2, kind(6)))
    cubic = lax.div(lax.mul(z, lax.sub(kind(1), z2)), lax.mul(kind(72), root))
    # The start is at most one too small after 0.6 is added; step down while k is too large.
    k = lax.ceil(lax.add(lax.add(start, cubic), kind(0.6)))
    out = lax.add(k, kind(1))
    for candidate in (k, lax.sub(k, kind(1))):
        reached = lax.ge(_as_normal(candidate, lam), z)
        out = lax.sub(out, lax.convert_element_type(reached, typeof(lam).dtype))
    return lax.max(out, kind(0))


def _as_normal(k: Value, lam: Value) -> Value:
    """Return y with Phi(y) close to P(X <= k)."""
    kind = typeof(k).dtype.type
    n = lax.max(k, kind(0))
    g = _g(lax.div(lax.add(n, kind(0.5)), lam))
    distance = lax.add(lax.sub(n, lam), kind(2 / 3))
    distance = lax.add(distance, lax.div(kind(0.02), lax.add(n, kind(1))))
    y = lax.mul(distance, lax.sqrt(lax.div(lax.add(kind(1), g), lam)))
    return lax.select(lax.lt(k, kind(0)), lax.full_like(y, -np.inf), y)


def _g(s: Value) -> Value:
    """Return (1 - s**2 + 2 s log(s)) / (1 - s)**2, by its series around s = 1."""
    kind = typeof(s).dtype.type
    t = lax.sub(s, kind(1))
    is_near = lax.lt(lax.abs(t), kind(0.25))
    series = lax.full_like(t, 0)
    for i in range(_SERIES_TERMS, 0, -1):
        series = lax.mul(t, lax.add(kind((-1) ** i * 2 / ((i + 1) * (i + 2))), series))
    s = lax.select(is_near, lax.full_like(s, 2), s)
    t = lax.select(is_near, lax.full_like(t, 1), t)
    top = lax.sub(kind(1), lax.square(s))
    top = lax.add(top, lax.mul(lax.mul(kind(2), s), lax.log(s)))
    return lax.select(is_near, series, lax.div(top, lax.square(t)))
