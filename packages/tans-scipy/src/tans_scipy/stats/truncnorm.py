"""The normal distribution cut at two bounds, given in standard units."""

import math
from typing import Any

import tans_numpy as jnp
from tans_core import typeof
from tans_scipy.special import log_ndtr, ndtr
from tans_scipy.special.operands import wide
from tans_scipy.stats.families import Standard, cumulative, density, log_density

__all__ = ("cdf", "logcdf", "logpdf", "logsf", "pdf", "sf")

type Array = Any


def _log_mass(a: Array, b: Array) -> Array:
    """Return the logarithm of the standard normal probability of [a, b]."""
    # Both bounds on the right are mirrored to the left, where the logarithms keep their digits.
    is_right = a > 0
    low, high = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
    is_across = high > 0
    log_high = log_ndtr(jnp.where(is_across, -0.5, high))
    gap = log_ndtr(jnp.where(is_across, -1.0, low)) - log_high
    is_empty = gap >= 0
    beside = log_high + jnp.log1p(-jnp.exp(jnp.where(is_empty, -1.0, gap)))
    beside = jnp.where(is_empty, -jnp.inf, beside)
    outside = ndtr(jnp.where(is_across, low, -1.0)) + ndtr(jnp.where(is_across, -high, -1.0))
    return jnp.where(is_across, jnp.log1p(-outside), beside)


def _logpdf(z: Array, a: Array, b: Array) -> Array:
    constant = 0.5 * math.log(2 * math.pi) + _log_mass(a, b)
    inside = (z >= a) & (z <= b)
    return jnp.where(inside, -0.5 * z * z - constant, -jnp.inf)


def _checked(out: Array, other: Array) -> Array:
    """Return a log probability, by that of the opposite event where it is near 0."""
    is_near = out > -0.5
    return jnp.where(is_near, jnp.log1p(-jnp.exp(jnp.where(is_near, other, -1.0))), out)


def _logcdf(z: Array, a: Array, b: Array) -> Array:
    middle, total = jnp.clip(z, a, b), _log_mass(a, b)
    out = _checked(_log_mass(a, middle) - total, _log_mass(middle, b) - total)
    return jnp.where(z <= a, -jnp.inf, jnp.where(z >= b, 0, out))


def _logsf(z: Array, a: Array, b: Array) -> Array:
    middle, total = jnp.clip(z, a, b), _log_mass(a, b)
    out = _checked(_log_mass(middle, b) - total, _log_mass(a, middle) - total)
    return jnp.where(z >= b, -jnp.inf, jnp.where(z <= a, 0, out))


def _cdf(z: Array, a: Array, b: Array) -> Array:
    return jnp.exp(_logcdf(z, a, b))


def _sf(z: Array, a: Array, b: Array) -> Array:
    return jnp.exp(_logsf(z, a, b))


def _in_single(standard: Standard) -> Standard:
    """Compute half precision in float32: differences of logarithms need its digits."""

    def function(z: Array, a: Array, b: Array) -> Array:
        return standard(wide(z), wide(a), wide(b)).astype(typeof(z).dtype)

    return function


logpdf = log_density("truncnorm", _in_single(_logpdf), "a b", error=ValueError)
pdf = density("truncnorm", _in_single(_logpdf), "a b", error=ValueError)
cdf = cumulative("truncnorm.cdf", _in_single(_cdf), "a b", error=ValueError)
logcdf = cumulative("truncnorm.logcdf", _in_single(_logcdf), "a b", error=ValueError)
sf = cumulative("truncnorm.sf", _in_single(_sf), "a b", error=ValueError)
logsf = cumulative("truncnorm.logsf", _in_single(_logsf), "a b", error=ValueError)
