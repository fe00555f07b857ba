"""The normal distribution of vectors."""

import math
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_xla import composite

__all__ = ("logpdf", "pdf")

type Array = Any


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Compute the logarithm of the density.

    Args:
      x: [..., n], points; or any shape if `mean` is a number. Integers become floats.
      mean: [..., n], or a number.
      cov: [..., n, n], positive definite; or a number, the variance of each component.
      allow_singular: not supported.

    Returns:
      Array [...] of the batch dimensions; of the shape of `x` if `mean` is a number.

    Raises:
      NotImplementedError: `allow_singular` is given.
      ValueError: the sizes do not fit.

    Example:
      >>> round(float(logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))), 4)
      -1.8379
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: given allow_singular, expected None: the covariance must "
            "have an inverse. Add a small multiple of the identity to it."
        )
    return _logpdf(x, mean, cov)


@composite
def _logpdf(x: Any, mean: Any, cov: Any) -> Array:
    x, mean, cov = promote_dtypes_inexact("multivariate_normal.logpdf", x, mean, cov)
    deviation = jnp.subtract(x, mean)
    if not typeof(cov).ndim:
        squares = jnp.square(deviation) / cov
        constant = math.log(2 * math.pi) + jnp.log(cov)
        if not typeof(mean).ndim:
            return -0.5 * (squares + constant)
        return -0.5 * (jnp.sum(squares, -1) + typeof(mean).shape[-1] * constant)
    n = typeof(cov).shape[-1]
    if typeof(cov).shape[-2:] != (n, n) or typeof(mean).shape[-1:] != (n,):
        raise ValueError(
            f"multivariate_normal: given a mean of shape {typeof(mean).shape} and a covariance of "
            f"shape {typeof(cov).shape}, expected [..., n] and [..., n, n]. Use a number for equal "
            "variances."
        )
    factor = lax.linalg.cholesky(cov, symmetrize_input=True)
    batch = jnp.broadcast_shapes(typeof(deviation).shape[:-1], typeof(factor).shape[:-2])
    whitened = lax.linalg.triangular_solve(
        jnp.broadcast_to(factor, (*batch, n, n)),
        jnp.broadcast_to(deviation, (*batch, n))[..., None],
        left_side=True, lower=True,
    )[..., 0]  # fmt: skip
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
    return -0.5 * (jnp.sum(jnp.square(whitened), -1) + n * math.log(2 * math.pi) + log_det)


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Compute the density.

    Args:
      x: [..., n], points; or any shape if `mean` is a number. Integers become floats.
      mean: [..., n], or a number.
      cov: [..., n, n], positive definite; or a number, the variance of each component.

    Returns:
      Array [...] of the batch dimensions; of the shape of `x` if `mean` is a number.
    """
    return lax.exp(logpdf(x, mean, cov))
