"""The chi-squared distribution: a gamma distribution of shape df / 2 and scale 2."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.special import gammainc, gammaincc, gammaln, xlogy
from tans_scipy.stats.families import cumulative, density, log_density, log_of, within

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "sf")

type Array = Any


def _logpdf(z: Array, df: Array) -> Array:
    a = df / 2
    constant = gammaln(a) + a * math.log(2)
    return within(z >= 0, lambda v: xlogy(a - 1, v) - v / 2 - constant, z, 1.0, -jnp.inf)


def _cdf(z: Array, df: Array) -> Array:
    return gammainc(df / 2, jnp.maximum(z, 0) / 2)


def _sf(z: Array, df: Array) -> Array:
    return gammaincc(df / 2, jnp.maximum(z, 0) / 2)


_logcdf, _logsf = log_of(_cdf), log_of(_sf)

logpdf = log_density("chi2", _logpdf, "df")
pdf = density("chi2", _logpdf, "df")
cdf = cumulative("chi2.cdf", _cdf, "df")
logcdf = cumulative("chi2.logcdf", _logcdf, "df")
sf = cumulative("chi2.sf", _sf, "df")
logsf = cumulative("chi2.logsf", _logsf, "df")
