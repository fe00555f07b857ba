"""The Poisson distribution."""

import math
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike
from tans_scipy.special import gammaincc, gammaln, xlogy
from tans_scipy.special.operands import broadcast
from tans_scipy.stats.families import cumulative, log_mass, mass, within
from tans_xla import composite

__all__ = ("cdf", "entropy", "logpmf", "pmf")

type Array = Any


def _logpmf(k: Array, mu: Array) -> Array:
    is_value = (k >= 0) & (k == lax.floor(k))
    return within(is_value, lambda v: xlogy(v, mu) - gammaln(v + 1) - mu, k, 0, -jnp.inf)


def _cdf(k: Array, mu: Array) -> Array:
    return jnp.where(k < 0, 0, gammaincc(lax.floor(jnp.maximum(k, 0)) + 1, mu))


logpmf = log_mass("poisson", _logpmf, "mu")
pmf = mass("poisson", _logpmf, "mu")
cdf = cumulative("poisson.cdf", _cdf, "mu", first="k", scaled=False)

# Above the bound the asymptotic series is exact to double precision; below, so many terms are.
_BOUND = 100.0
_TERMS = 220


@composite
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Compute the entropy, in units of e.

    Args:
      mu: mean, any shape, at least 0; integers become floats.
      loc: location, broadcasts with `mu`; without effect on the value.

    Returns:
      Array of the common shape.

    Example:
      >>> round(float(entropy(3.0)), 4)
      1.9315

    References:
      Evans and Boersma, "The entropy of a Poisson distribution", 1988.
    """
    mu, _ = broadcast("poisson.entropy", mu, loc)
    is_small = mu < _BOUND
    small = jnp.expand_dims(jnp.where(is_small, mu, 1), -1)
    k = jnp.arange(_TERMS, dtype=typeof(mu).dtype)
    logs = xlogy(k, small) - gammaln(k + 1) - small
    exact = -jnp.sum(jnp.exp(logs) * logs, -1)
    inverse = 1 / jnp.where(is_small, _BOUND, mu)
    series = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360)))
    far = 0.5 * (math.log(2 * math.pi) + 1 - jnp.log(inverse)) - series
    return jnp.where(mu == 0, 0, jnp.where(is_small, exact, far))
