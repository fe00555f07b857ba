"""The normal distribution."""

import math
from typing import Any

from tans_scipy.special import log_ndtr, ndtr, ndtri
from tans_scipy.stats.families import cumulative, density, log_density, quantile

__all__ = ("cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return -0.5 * (z * z + math.log(2 * math.pi))


def _sf(z: Array) -> Array:
    return ndtr(-z)


def _logsf(z: Array) -> Array:
    return log_ndtr(-z)


def _isf(q: Array) -> Array:
    return -ndtri(q)


logpdf = log_density("norm", _logpdf)
pdf = density("norm", _logpdf)
cdf = cumulative("norm.cdf", ndtr)
logcdf = cumulative("norm.logcdf", log_ndtr)
sf = cumulative("norm.sf", _sf)
logsf = cumulative("norm.logsf", _logsf)
ppf = quantile("norm.ppf", ndtri)
isf = quantile("norm.isf", _isf)
