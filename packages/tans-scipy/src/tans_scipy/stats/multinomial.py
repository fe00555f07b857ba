"""The multinomial distribution."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special import gammaln, xlogy
from tans_xla import composite

__all__ = ("logpmf", "pmf")

type Array = Any


@composite
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Compute the logarithm of the probability of counts.

    Args:
      x: [..., k], counts; integers become floats.
      n: number of trials; -inf results where the counts do not add up to it.
      p: [..., k], probabilities of each outcome.

    Returns:
      Array [...].

    Example:
      >>> round(float(logpmf(jnp.array([1, 2]), 3, jnp.array([0.3, 0.7]))), 4)
      -0.8187
    """
    p, x, n = promote_dtypes_inexact("multinomial.logpmf", p, x, n)
    terms = xlogy(x, p) - gammaln(x + 1)
    total = gammaln(n + 1) + jnp.sum(terms, -1)
    return jnp.where(jnp.equal(jnp.sum(x, -1), n), total, -jnp.inf)


@composite
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Compute the probability of counts.

    Args:
      x: [..., k], counts; integers become floats.
      n: number of trials.
      p: [..., k], probabilities of each outcome.

    Returns:
      Array [...].
    """
    return lax.exp(logpmf(x, n, p))
