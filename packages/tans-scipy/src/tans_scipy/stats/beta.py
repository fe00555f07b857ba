"""The beta distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import betainc, betaln, xlog1py, xlogy
from tans_scipy.stats.families import cumulative, density, log_density, log_of, within

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "sf")

type Array = Any


def _logpdf(z: Array, a: Array, b: Array) -> Array:
    def inside(v: Array) -> Array:
        return xlogy(a - 1, v) + xlog1py(b - 1, -v) - betaln(a, b)

    out = within((z >= 0) & (z <= 1), inside, z, 0.5, -jnp.inf)
    return jnp.where((a > 0) & (b > 0), out, jnp.nan)


def _cdf(z: Array, a: Array, b: Array) -> Array:
    below = betainc(a, b, jnp.clip(z, 0, 1))
    # A parameter of 0 puts all on one end.
    return jnp.where((z <= 0) & ~jnp.isnan(below), 0, below)


def _sf(z: Array, a: Array, b: Array) -> Array:
    return _cdf(1 - z, b, a)


_logcdf, _logsf = log_of(_cdf), log_of(_sf)

logpdf = log_density("beta", _logpdf, "a b")
pdf = density("beta", _logpdf, "a b")
cdf = cumulative("beta.cdf", _cdf, "a b")
logcdf = cumulative("beta.logcdf", _logcdf, "a b")
sf = cumulative("beta.sf", _sf, "a b")
logsf = cumulative("beta.logsf", _logsf, "a b")
