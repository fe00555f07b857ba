"""The Pareto distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import cumulative, density, log_density, log_of, quantile, within

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")

type Array = Any


def _logpdf(z: Array, b: Array) -> Array:
    return within(z >= 1, lambda v: jnp.log(b) - (b + 1) * jnp.log(v), z, 1.0, -jnp.inf)


def _logsf(z: Array, b: Array) -> Array:
    return -b * jnp.log(jnp.maximum(z, 1))


def _sf(z: Array, b: Array) -> Array:
    return jnp.exp(_logsf(z, b))


def _cdf(z: Array, b: Array) -> Array:
    return -jnp.expm1(_logsf(z, b))


def _ppf(q: Array, b: Array) -> Array:
    inside = jnp.where(q == 0, 1, jnp.exp(-jnp.log1p(-q) / b))
    return jnp.where((q >= 0) & (q <= 1), inside, jnp.nan)


_logcdf = log_of(_cdf)

logpdf = log_density("pareto", _logpdf, "b")
pdf = density("pareto", _logpdf, "b")
cdf = cumulative("pareto.cdf", _cdf, "b")
logcdf = cumulative("pareto.logcdf", _logcdf, "b")
sf = cumulative("pareto.sf", _sf, "b")
logsf = cumulative("pareto.logsf", _logsf, "b")
ppf = quantile("pareto.ppf", _ppf, "b")
