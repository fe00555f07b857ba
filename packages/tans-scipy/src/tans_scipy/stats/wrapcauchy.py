"""The Cauchy distribution wrapped around the circle."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.stats.families import density, log_density, within

__all__ = ("logpdf", "pdf")

type Array = Any


def _logpdf(x: Array, c: Array) -> Array:
    def inside(v: Array) -> Array:
        return jnp.log1p(-c * c) - math.log(2 * math.pi) - jnp.log(1 + c * c - 2 * c * jnp.cos(v))

    found = within((x >= 0) & (x <= 2 * math.pi), inside, x, 1.0, -jnp.inf)
    return jnp.where((c > 0) & (c < 1), found, jnp.nan)


logpdf = log_density("wrapcauchy", _logpdf, "c", located=False)
pdf = density("wrapcauchy", _logpdf, "c", located=False)
