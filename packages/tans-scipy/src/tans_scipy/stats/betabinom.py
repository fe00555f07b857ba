"""The beta-binomial distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import betaln
from tans_scipy.stats.families import log_mass, mass, within

__all__ = ("logpmf", "pmf")

type Array = Any


def _logpmf(k: Array, n: Array, a: Array, b: Array) -> Array:
    def inside(v: Array) -> Array:
        choices = -jnp.log1p(n) - betaln(n - v + 1, v + 1)
        return choices + betaln(v + a, n - v + b) - betaln(a, b)

    return within((k >= 0) & (k <= n), inside, k, 0, -jnp.inf)


logpmf = log_mass("betabinom", _logpmf, "n a b")
pmf = mass("betabinom", _logpmf, "n a b")
