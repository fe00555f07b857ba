"""The negative binomial distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import betaln, xlog1py
from tans_scipy.stats.families import log_mass, mass, within

__all__ = ("logpmf", "pmf")

type Array = Any


def _logpmf(k: Array, n: Array, p: Array) -> Array:
    def inside(v: Array) -> Array:
        choices = -jnp.log(n + v) - betaln(n, v + 1)
        return choices + n * jnp.log(p) + xlog1py(v, -p)

    return within(k >= 0, inside, k, 0, -jnp.inf)


logpmf = log_mass("nbinom", _logpmf, "n p")
pmf = mass("nbinom", _logpmf, "n p")
