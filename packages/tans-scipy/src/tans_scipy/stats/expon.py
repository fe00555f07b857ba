"""The exponential distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, quantile, within

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return jnp.where(z >= 0, -z, -jnp.inf)


def _cdf(z: Array) -> Array:
    return -jnp.expm1(-jnp.maximum(z, 0))


def _logcdf(z: Array) -> Array:
    return within(z > 0, _log1mexp, z, 1.0, -jnp.inf)


def _log1mexp(z: Array) -> Array:
    is_small = z < 0.7
    small = jnp.log(-jnp.expm1(-jnp.where(is_small, z, 0.5)))
    return jnp.where(is_small, small, jnp.log1p(-jnp.exp(-z)))


def _sf(z: Array) -> Array:
    return jnp.exp(-jnp.maximum(z, 0))


def _logsf(z: Array) -> Array:
    return -jnp.maximum(z, 0)


def _ppf(q: Array) -> Array:
    return jnp.where((q >= 0) & (q <= 1), -jnp.log1p(-q), jnp.nan)


logpdf = log_density("expon", _logpdf)
pdf = density("expon", _logpdf)
cdf = cumulative("expon.cdf", _cdf)
logcdf = cumulative("expon.logcdf", _logcdf)
sf = cumulative("expon.sf", _sf)
logsf = cumulative("expon.logsf", _logsf)
ppf = quantile("expon.ppf", _ppf)
