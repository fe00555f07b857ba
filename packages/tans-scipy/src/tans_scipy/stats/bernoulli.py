"""The Bernoulli distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import xlog1py, xlogy
from tans_scipy.stats.families import cumulative, log_mass, mass, quantile, within

__all__ = ("cdf", "logpmf", "pmf", "ppf")

type Array = Any


def _logpmf(k: Array, p: Array) -> Array:
    is_value = (k == 0) | (k == 1)
    return within(is_value, lambda v: xlogy(v, p) + xlog1py(1 - v, -p), k, 0, -jnp.inf)


def _cdf(k: Array, p: Array) -> Array:
    return jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))


def _ppf(q: Array, p: Array) -> Array:
    is_valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    return jnp.where(is_valid, jnp.where(q <= 1 - p, jnp.zeros_like(q), 1), jnp.nan)


logpmf = log_mass("bernoulli", _logpmf, "p")
pmf = mass("bernoulli", _logpmf, "p")
cdf = cumulative("bernoulli.cdf", _cdf, "p", located=False, first="k")
ppf = quantile("bernoulli.ppf", _ppf, "p", located=False)
