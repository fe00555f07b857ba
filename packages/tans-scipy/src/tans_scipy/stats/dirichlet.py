"""The Dirichlet distribution."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special import gammaln, xlogy
from tans_xla import composite

__all__ = ("logpdf", "pdf")

type Array = Any


@composite
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Compute the logarithm of the density.

    Args:
      x: [n, ...] or [n - 1, ...], points of the simplex; a missing last component is one minus the
        others. Integers become floats.
      alpha: [n], positive.

    Returns:
      Array [...]; -inf for points outside of the simplex.

    Raises:
      ValueError: the sizes do not fit.

    Example:
      >>> round(float(logpdf(jnp.array([0.2, 0.3, 0.5]), jnp.array([1.0, 2.0, 3.0]))), 3)
      1.504
    """
    x, alpha = promote_dtypes_inexact("dirichlet.logpdf", x, alpha)
    n = typeof(alpha).shape[0] if typeof(alpha).ndim == 1 else -1
    if n < 0 or typeof(x).ndim < 1 or typeof(x).shape[0] not in (n, n - 1):
        raise ValueError(
            f"dirichlet: given x of shape {typeof(x).shape} and alpha of shape "
            f"{typeof(alpha).shape}, expected alpha [n] and x [n, ...] or [n - 1, ...]. Move the "
            "components of x to the first dimension."
        )
    if typeof(x).shape[0] == n - 1:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)], 0)
    alpha = jnp.reshape(alpha, (n,) + (1,) * (typeof(x).ndim - 1))
    tolerance = 8 * n * float(finfo(typeof(x).dtype).eps)
    inside = jnp.all(x >= 0, 0) & (jnp.abs(jnp.sum(x, 0) - 1) <= tolerance)
    safe = jnp.where(inside, x, 1 / n)
    constant = gammaln(jnp.sum(alpha)) - jnp.sum(gammaln(alpha))
    return jnp.where(inside, constant + jnp.sum(xlogy(alpha - 1, safe), 0), -jnp.inf)


@composite
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Compute the density.

    Args:
      x: [n, ...] or [n - 1, ...], points of the simplex. Integers become floats.
      alpha: [n], positive.

    Returns:
      Array [...]; 0 for points outside of the simplex.

    Raises:
      ValueError: the sizes do not fit.
    """
    return lax.exp(logpdf(x, alpha))
