"""The Gumbel distribution of minima."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, log_of, quantile

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return z - jnp.exp(z)


def _cdf(z: Array) -> Array:
    return -jnp.expm1(-jnp.exp(z))


def _sf(z: Array) -> Array:
    return jnp.exp(-jnp.exp(z))


def _logsf(z: Array) -> Array:
    return -jnp.exp(z)


def _ppf(p: Array) -> Array:
    return jnp.log(-jnp.log1p(-p))


_logcdf = log_of(_cdf)

logpdf = log_density("gumbel_l", _logpdf)
pdf = density("gumbel_l", _logpdf)
cdf = cumulative("gumbel_l.cdf", _cdf)
logcdf = cumulative("gumbel_l.logcdf", _logcdf)
sf = cumulative("gumbel_l.sf", _sf)
logsf = cumulative("gumbel_l.logsf", _logsf)
ppf = quantile("gumbel_l.ppf", _ppf, first="p")
