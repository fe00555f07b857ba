"""Student's t distribution."""

from typing import Any

import tans_numpy as jnp
from tans_scipy.special import betaln
from tans_scipy.stats.families import density, log_density

__all__ = ("logpdf", "pdf")

type Array = Any


def _logpdf(z: Array, df: Array) -> Array:
    constant = betaln(df / 2, 0.5) + 0.5 * jnp.log(df)
    return -constant - (df + 1) / 2 * jnp.log1p(z * z / df)


logpdf = log_density("t", _logpdf, "df")
pdf = density("t", _logpdf, "df")
