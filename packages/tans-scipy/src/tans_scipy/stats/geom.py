"""The geometric distribution of the number of trials."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import xlog1py
from tans_scipy.stats.families import log_mass, mass, within

__all__ = ("logpmf", "pmf")

type Array = Any


def _logpmf(k: Array, p: Array) -> Array:
    return within(k >= 1, lambda v: xlog1py(v - 1, -p) + jnp.log(p), k, 1, -jnp.inf)


logpmf = log_mass("geom", _logpmf, "p")
pmf = mass("geom", _logpmf, "p")
