"""The von Mises distribution on the circle."""

import math
from typing import Any

import tans_numpy as jnp
from tans_scipy.special import i0e
from tans_scipy.stats.families import density, log_density

__all__ = ("logpdf", "pdf")

type Array = Any


def _logpdf(x: Array, kappa: Array) -> Array:
    return kappa * (jnp.cos(x) - 1) - math.log(2 * math.pi) - jnp.log(i0e(kappa))


logpdf = log_density("vonmises", _logpdf, "kappa", located=False)
pdf = density("vonmises", _logpdf, "kappa", located=False)
