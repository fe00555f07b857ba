"""Linear units with an exponential or Gaussian part: elu, selu, celu, gelu, and the gate glu."""

import math
from typing import Any, Final

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)
from tans_xla import composite

type Array = Any

_SELU_ALPHA: Final = 1.6732632423543772848170429916717
_SELU_SCALE: Final = 1.0507009873554804934193349852946


@composite
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Compute `x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
      x: any shape and dtype; integers become floats.
      alpha: broadcasts with `x`.

    Example:
      >>> round(float(elu(-1.0)), 4)
      -0.6321

    References:
      Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by exponential
      linear units", 2015.
    """
    check_arraylike("elu", x, alpha)
    is_positive = jnp.greater(x, 0)
    # Large x would give inf * 0 in the derivative of the branch that is not taken.
    below = jnp.expm1(jnp.where(is_positive, 0.0, x))
    return jnp.where(is_positive, x, jnp.multiply(alpha, below))


@composite
def selu(x: ArrayLike) -> Array:
    """Compute the `elu` whose scale keeps mean 0 and variance 1 from layer to layer.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> round(float(selu(1.0)), 4)
      1.0507

    References:
      Klambauer, Unterthiner, Mayr, Hochreiter, "Self-normalizing neural networks", 2017.
    """
    check_arraylike("selu", x)
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@composite
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Compute ``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``.

    Args:
      x: any shape and dtype; integers become floats.
      alpha: broadcasts with `x`.

    Example:
      >>> round(float(celu(-1.0, 2.0)), 4)
      -0.7869

    References:
      Barron, "Continuously differentiable exponential linear units", 2017.
    """
    check_arraylike("celu", x, alpha)
    is_positive = jnp.greater(x, 0)
    below = jnp.expm1(jnp.where(is_positive, 0.0, x) / alpha)
    return jnp.where(is_positive, x, jnp.multiply(alpha, below))


def _gelu(x: Array, approximate: bool) -> Array:
    dtype = typeof(x).dtype
    if not approximate:
        half = lax.mul(x, dtype.type(0.5))
        return lax.mul(half, lax.erfc(lax.mul(x, dtype.type(-math.sqrt(0.5)))))
    # (1 + tanh(u)) / 2 is the logistic function of 2 u, which keeps its digits where tanh is -1.
    scale = math.sqrt(8 / math.pi)
    factor = lax.add(lax.mul(lax.square(x), dtype.type(0.044715 * scale)), dtype.type(scale))
    return lax.mul(x, lax.logistic(lax.mul(x, factor)))


@composite(static_argnames=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Compute `x` times the normal distribution function of `x`.

    Args:
      x: any shape and dtype; integers become floats, a weak type ends.
      approximate: use a hyperbolic tangent of a cubic polynomial in place of the error function;
        the result differs by less than 5e-4.

    Raises:
      TypeError: `x` is complex and `approximate` is False.

    Example:
      >>> round(float(gelu(1.0, approximate=False)), 4)
      0.8413

    References:
      Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """
    (x,) = promote_dtypes_inexact("gelu", x)
    return _gelu(lax.convert_element_type(x, typeof(x).dtype), bool(approximate))


@composite(static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Multiply the first half of `x` by the sigmoid of its second half.

    Args:
      x: any shape [..., 2 n, ...], float or complex dtype.
      axis: the dimension to split.

    Returns:
      Array [..., n, ...].

    Raises:
      ValueError: the size along `axis` is odd.
      TypeError: `x` is an integer.

    Example:
      >>> glu(jnp.array([1.0, 2.0, 0.0, 0.0])).tolist()
      [0.5, 1.0]

    References:
      Dauphin, Fan, Auli, Grangier, "Language modeling with gated convolutional networks", 2016.
    """
    check_arraylike("glu", x)
    aval = typeof(x)
    axis = canonicalize_axis(axis, aval.ndim, "glu")
    size = aval.shape[axis]
    if size % 2:
        raise ValueError(
            f"glu: given an array of shape {aval.shape}, expected an even size along axis {axis}. "
            "Give twice the wanted size."
        )
    value, gate = lax.split(x, (size // 2, size // 2), axis)
    return lax.mul(value, lax.logistic(gate))
