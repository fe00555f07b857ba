"""Piecewise linear activations, and those that gate with them."""

from typing import Any

import tans_numpy as jnp
from tans_numpy.operands import ArrayLike, check_arraylike
from tans_xla import composite

type Array = Any


@composite
def relu(x: ArrayLike) -> Array:
    """Compute ``max(x, 0)``; the slope at 0 is 0.

    Args:
      x: any shape and dtype.

    Example:
      >>> relu(jnp.array([-1.0, 2.0])).tolist()
      [0.0, 2.0]
    """
    check_arraylike("relu", x)
    return jnp.where(jnp.less_equal(x, 0), 0, x)


@composite
def relu6(x: ArrayLike) -> Array:
    """Compute ``min(max(x, 0), 6)``; the slope at 0 and 6 is 0.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> relu6(jnp.array([-1.0, 2.0, 7.0])).tolist()
      [0.0, 2.0, 6.0]

    References:
      Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010.
    """
    check_arraylike("relu6", x)
    return jnp.where(jnp.less_equal(x, 0), 0.0, jnp.where(jnp.greater_equal(x, 6), 6.0, x))


@composite
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """Compute `x` where it is not negative, ``negative_slope * x`` elsewhere.

    Args:
      x: any shape and dtype; integers become floats.
      negative_slope: broadcasts with `x`.

    Example:
      >>> leaky_relu(jnp.array([-2.0, 2.0]), 0.5).tolist()
      [-1.0, 2.0]
    """
    check_arraylike("leaky_relu", x, negative_slope)
    return jnp.where(jnp.greater_equal(x, 0), x, jnp.multiply(negative_slope, x))


@composite
def hard_tanh(x: ArrayLike) -> Array:
    """Compute `x` limited to [-1, 1].

    Args:
      x: any shape and dtype.

    Example:
      >>> hard_tanh(jnp.array([-2.0, 0.5])).tolist()
      [-1.0, 0.5]
    """
    check_arraylike("hard_tanh", x)
    return jnp.where(jnp.greater(x, 1), 1, jnp.where(jnp.less(x, -1), -1, x))


@composite
def hard_sigmoid(x: ArrayLike) -> Array:
    """Compute ``relu6(x + 3) / 6``.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> hard_sigmoid(jnp.array([-3.0, 0.0, 9.0])).tolist()
      [0.0, 0.5, 1.0]
    """
    check_arraylike("hard_sigmoid", x)
    return relu6(jnp.add(x, 3.0)) / 6.0


@composite
def hard_silu(x: ArrayLike) -> Array:
    """Compute ``x * hard_sigmoid(x)``.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> hard_silu(jnp.array([0.0, 6.0])).tolist()
      [0.0, 6.0]

    References:
      Howard and others, "Searching for MobileNetV3", 2019.
    """
    check_arraylike("hard_silu", x)
    return jnp.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


@composite
def sparse_plus(x: ArrayLike) -> Array:
    """Compute 0 up to -1, ``(x + 1)**2 / 4`` up to 1, and `x` beyond.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> sparse_plus(jnp.array([-2.0, 0.0, 2.0])).tolist()
      [0.0, 0.25, 2.0]
    """
    check_arraylike("sparse_plus", x)
    middle = jnp.square(jnp.add(x, 1.0)) / 4
    above = jnp.where(jnp.greater_equal(x, 1.0), x, middle)
    return jnp.where(jnp.less_equal(x, -1.0), 0.0, above)


@composite
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Compute the slope of `sparse_plus`: ``(x + 1) / 2`` limited to [0, 1].

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0])).tolist()
      [0.0, 0.5, 1.0]
    """
    check_arraylike("sparse_sigmoid", x)
    return 0.5 * jnp.clip(jnp.add(x, 1.0), 0.0, 2.0)


@composite
def identity(x: ArrayLike) -> Array:
    """Return `x` as an array.

    Args:
      x: any shape and dtype.

    Example:
      >>> float(identity(2.0))
      2.0
    """
    check_arraylike("identity", x)
    return jnp.asarray(x)
