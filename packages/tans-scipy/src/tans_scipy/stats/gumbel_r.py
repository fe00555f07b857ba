"""The Gumbel distribution of maxima."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, log_of, quantile

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return -(z + jnp.exp(-z))


def _logcdf(z: Array) -> Array:
    return -jnp.exp(-z)


def _cdf(z: Array) -> Array:
    return jnp.exp(-jnp.exp(-z))


def _sf(z: Array) -> Array:
    return -jnp.expm1(-jnp.exp(-z))


def _ppf(p: Array) -> Array:
    return -jnp.log(-jnp.log(p))


_logsf = log_of(_sf)

logpdf = log_density("gumbel_r", _logpdf)
pdf = density("gumbel_r", _logpdf)
cdf = cumulative("gumbel_r.cdf", _cdf)
logcdf = cumulative("gumbel_r.logcdf", _logcdf)
sf = cumulative("gumbel_r.sf", _sf)
logsf = cumulative("gumbel_r.logsf", _logsf)
ppf = quantile("gumbel_r.ppf", _ppf, first="p")
