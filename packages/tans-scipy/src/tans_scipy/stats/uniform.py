"""The uniform distribution on [loc, loc + scale]."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, quantile

__all__ = ("cdf", "logpdf", "pdf", "ppf")

type Array = Any


def _logpdf(z: Array) -> Array:
    return jnp.where((z >= 0) & (z <= 1), 0.0 * z, -jnp.inf)


def _cdf(z: Array) -> Array:
    return jnp.clip(z, 0, 1)


def _ppf(q: Array) -> Array:
    return jnp.where((q >= 0) & (q <= 1), q, jnp.nan)


logpdf = log_density("uniform", _logpdf)
pdf = density("uniform", _logpdf)
cdf = cumulative("uniform.cdf", _cdf)
ppf = quantile("uniform.ppf", _ppf)
