"""Softmax with SciPy's default axis: all of them."""

from typing import Any

from tans_numpy import exponential_sums
from tans_numpy.exponential_sums import logsumexp
from tans_numpy.operands import ArrayLike

__all__ = ("log_softmax", "logsumexp", "softmax")

type Array = Any


def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Compute ``exp(x) / sum(exp(x))`` without overflow.

    Args:
      x: any shape, real or complex; integers become floats.
      axis: int or ints along which the result sums to 1; all if None.

    Example:
      >>> softmax(jnp.zeros(2)).tolist()
      [0.5, 0.5]
    """
    return exponential_sums.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Compute the logarithm of `softmax` without overflow or loss of small values.

    Args:
      x: any shape, real or complex; integers become floats.
      axis: int or ints along which the exponentials of the result sum to 1; all if None.

    Example:
      >>> log_softmax(jnp.array([0.0, -1000.0])).tolist()
      [0.0, -1000.0]
    """
    return exponential_sums.log_softmax(x, axis)
