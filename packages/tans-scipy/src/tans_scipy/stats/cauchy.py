"""The Cauchy distribution."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, quantile

__all__ = ("cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return -math.log(math.pi) - jnp.log1p(z * z)


def _cdf(z: Array) -> Array:
    # The angle of (1, -z) keeps its digits far left, where 1/2 + atan(z) / pi does not.
    return jnp.arctan2(jnp.ones_like(z), -z) / math.pi


def _logcdf(z: Array) -> Array:
    return jnp.log(_cdf(z))


def _sf(z: Array) -> Array:
    return _cdf(-z)


def _logsf(z: Array) -> Array:
    return jnp.log(_cdf(-z))


def _ppf(q: Array) -> Array:
    inside = jnp.tan(math.pi * (q - 0.5))
    inside = jnp.where((q < 0) | (q > 1), jnp.nan, inside)
    return jnp.where(q == 0, -jnp.inf, jnp.where(q == 1, jnp.inf, inside))


def _isf(q: Array) -> Array:
    return -_ppf(q)


logpdf = log_density("cauchy", _logpdf)
pdf = density("cauchy", _logpdf)
cdf = cumulative("cauchy.cdf", _cdf)
logcdf = cumulative("cauchy.logcdf", _logcdf)
sf = cumulative("cauchy.sf", _sf)
logsf = cumulative("cauchy.logsf", _logsf)
ppf = quantile("cauchy.ppf", _ppf)
isf = quantile("cauchy.isf", _isf)
