"""The logistic distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import expit, logit
from tans_scipy.stats.families import cumulative, density, log_density, quantile

__all__ = ("cdf", "isf", "logpdf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array) -> Array:
    distance = jnp.abs(z)
    return -distance - 2 * jnp.log1p(jnp.exp(-distance))


def _sf(z: Array) -> Array:
    return expit(-z)


def _isf(q: Array) -> Array:
    return -logit(q)


logpdf = log_density("logistic", _logpdf)
pdf = density("logistic", _logpdf)
cdf = cumulative("logistic.cdf", expit)
sf = cumulative("logistic.sf", _sf)
ppf = quantile("logistic.ppf", logit, first="x")
isf = quantile("logistic.isf", _isf, first="x")
