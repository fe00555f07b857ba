"""The binomial distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import betaln, xlog1py, xlogy
from tans_scipy.stats.families import log_mass, mass, within

__all__ = ("logpmf", "pmf")

type Array = Any


def _logpmf(k: Array, n: Array, p: Array) -> Array:
    def inside(v: Array) -> Array:
        choices = -jnp.log1p(n) - betaln(n - v + 1, v + 1)
        return choices + xlogy(v, p) + xlog1py(n - v, -p)

    return within((k >= 0) & (k <= n), inside, k, 0, -jnp.inf)


logpmf = log_mass("binom", _logpmf, "n p")
pmf = mass("binom", _logpmf, "n p")
