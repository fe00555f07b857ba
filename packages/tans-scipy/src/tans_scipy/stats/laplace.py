"""The Laplace distribution."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density

__all__ = ("cdf", "logpdf", "pdf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return -jnp.abs(z) - math.log(2)


def _cdf(z: Array) -> Array:
    half = 0.5 * jnp.exp(-jnp.abs(z))
    return jnp.where(z < 0, half, 1 - half)


logpdf = log_density("laplace", _logpdf)
pdf = density("laplace", _logpdf)
cdf = cumulative("laplace.cdf", _cdf)
