"""The generalised normal distribution."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.special import gammainc, gammaln
from tans_scipy.stats.families import cumulative, density, log_density

__all__ = ("cdf", "logpdf", "pdf")

type Array = Any


def _logpdf(x: Array, beta: Array) -> Array:
    return jnp.log(beta) - math.log(2) - gammaln(1 / beta) - jnp.abs(x) ** beta


def _cdf(x: Array, beta: Array) -> Array:
    return 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, jnp.abs(x) ** beta))


logpdf = log_density("gennorm", _logpdf, "beta", located=False)
pdf = density("gennorm", _logpdf, "beta", located=False)
cdf = cumulative("gennorm.cdf", _cdf, "beta", located=False)
