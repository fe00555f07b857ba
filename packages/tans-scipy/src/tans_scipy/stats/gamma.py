"""The gamma distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import gammainc, gammaincc, gammaln, xlogy
from tans_scipy.stats.families import cumulative, density, log_density, log_of, within

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "sf")

type Array = Any


def _logpdf(z: Array, a: Array) -> Array:
    return within(z >= 0, lambda v: xlogy(a - 1, v) - v - gammaln(a), z, 1.0, -jnp.inf)


def _cdf(z: Array, a: Array) -> Array:
    return gammainc(a, jnp.maximum(z, 0))


def _sf(z: Array, a: Array) -> Array:
    return gammaincc(a, jnp.maximum(z, 0))


_logcdf, _logsf = log_of(_cdf), log_of(_sf)

logpdf = log_density("gamma", _logpdf, "a")
pdf = density("gamma", _logpdf, "a")
cdf = cumulative("gamma.cdf", _cdf, "a")
logcdf = cumulative("gamma.logcdf", _logcdf, "a")
sf = cumulative("gamma.sf", _sf, "a")
logsf = cumulative("gamma.logsf", _logsf, "a")
