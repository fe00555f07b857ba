"""Smooth activations that saturate.

Each has a rule for its slope where plain differentiation would subtract near-equal numbers. The
slope is again a function with an accurate slope, so that second derivatives keep their digits.
"""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer

tanh = jnp.tanh


@composite
def sigmoid(x: ArrayLike) -> Array:
    """Compute ``1 / (1 + exp(-x))``.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is an integer.

    Example:
      >>> float(sigmoid(0.0))
      0.5
    """
    check_arraylike("sigmoid", x)
    return lax.logistic(x)


@composite
def silu(x: ArrayLike) -> Array:
    """Compute ``x * sigmoid(x)``, also known as swish.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is an integer.

    Example:
      >>> round(float(silu(1.0)), 4)
      0.7311

    References:
      Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units for neural network function
      approximation in reinforcement learning", 2018.
    """
    check_arraylike("silu", x)
    return lax.mul(x, lax.logistic(x))


swish = silu


@custom_jvp
def _softplus(x: Value) -> Array:
    if dtypes.is_complex(typeof(x).dtype):
        is_right = jnp.real(x) >= 0
        rest = jnp.log1p(jnp.exp(jnp.where(is_right, -x, x)))
        return jnp.where(is_right, x + rest, rest)
    return lax.add(lax.max(x, 0.0), lax.log1p(lax.exp(lax.neg(lax.abs(x)))))


@_softplus.defjvp
def _softplus_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _softplus(x), lax.mul(x_dot, lax.logistic(x))


@composite
def softplus(x: ArrayLike) -> Array:
    """Compute ``log(1 + exp(x))`` without overflow.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> round(float(softplus(0.0)), 4)
      0.6931
    """
    x, _ = promote_dtypes_inexact("softplus", x, 0)
    return _softplus(x)


@composite
def log_sigmoid(x: ArrayLike) -> Array:
    """Compute ``log(sigmoid(x))`` without overflow.

    Args:
      x: any shape and dtype; integers become floats.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> round(float(log_sigmoid(0.0)), 4)
      -0.6931
    """
    check_arraylike("log_sigmoid", x)
    return -softplus(jnp.negative(x))


@custom_jvp
def _soft_sign(x: Value) -> Array:
    return x / (jnp.abs(x) + 1)


@_soft_sign.defjvp
def _soft_sign_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _soft_sign(x), x_dot / jnp.square(jnp.abs(x) + 1)


@composite
def soft_sign(x: ArrayLike) -> Array:
    """Compute ``x / (abs(x) + 1)``.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> float(soft_sign(1.0))
      0.5
    """
    x, _ = promote_dtypes_inexact("soft_sign", x, 0)
    if dtypes.is_complex(typeof(x).dtype):
        return x / (jnp.abs(x) + 1)
    return _soft_sign(x)


@composite
def mish(x: ArrayLike) -> Array:
    """Compute ``x * tanh(softplus(x))``.

    Args:
      x: any shape and dtype; integers become floats.

    Example:
      >>> round(float(mish(1.0)), 4)
      0.8651

    References:
      Misra, "Mish: a self regularized non-monotonic activation function", 2019.
    """
    x, _ = promote_dtypes_inexact("mish", x, 0)
    return lax.mul(x, lax.tanh(_softplus(x)))


# With r = sqrt(x**2 + b), squareplus is (x + r) / 2 = b / 2 / (r - x), its slope in x is
# s = (x + r) / 2 / r and that of s is b / 2 / r**3. In b they are 1 / 4 / r and -x / 4 / r**3.
# Each is written without the difference of x and r: the second form is used for negative x.
@custom_jvp
def _squareplus(x: Value, b: Value) -> Array:
    r = jnp.sqrt(jnp.square(x) + b)
    larger = jnp.abs(x) + r
    return jnp.where(x >= 0, larger / 2, b / (2 * jnp.where(x >= 0, 1, larger)))


@_squareplus.defjvp
def _squareplus_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, b), (x_dot, b_dot) = primals, tangents
    r = jnp.sqrt(jnp.square(x) + b)
    return _squareplus(x, b), x_dot * _squareplus_slope(x, b) + b_dot * (0.25 / r)


@custom_jvp
def _squareplus_slope(x: Value, b: Value) -> Array:
    return _squareplus(x, b) / jnp.sqrt(jnp.square(x) + b)


@_squareplus_slope.defjvp
def _squareplus_slope_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, b), (x_dot, b_dot) = primals, tangents
    r = jnp.sqrt(jnp.square(x) + b)
    cube = r * r * r
    return _squareplus_slope(x, b), x_dot * (b / (2 * cube)) - b_dot * (x / (4 * cube))


@composite
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """Compute ``(x + sqrt(x**2 + b)) / 2``, accurate for negative `x`.

    Args:
      x: any shape and dtype; integers become floats.
      b: smoothness, broadcasts with `x`; 0 gives `relu`.

    Example:
      >>> float(squareplus(0.0))
      1.0

    References:
      Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.
    """
    check_arraylike("squareplus", x, b)
    if typeof(x).dtype == jnp.bool_:  # booleans are no weak numbers beside the default
        (x,) = promote_dtypes_inexact("squareplus", x)
    x, b = jnp.broadcast_arrays(*promote_dtypes_inexact("squareplus", x, b))
    if dtypes.is_complex(typeof(x).dtype):
        return (x + jnp.sqrt(jnp.square(x) + b)) / 2
    return _squareplus(x, b)


@custom_jvp
def _log1mexp(x: Value) -> Array:
    near = x < 0.6931471805599453  # log(2): both forms are accurate there
    small, large = jnp.where(near, x, 1.0), jnp.where(near, 1.0, x)
    return jnp.where(near, jnp.log(-jnp.expm1(-small)), jnp.log1p(-jnp.exp(-large)))


@_log1mexp.defjvp
def _log1mexp_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _log1mexp(x), x_dot * (jnp.exp(-x) / -jnp.expm1(-x))


@composite
def log1mexp(x: ArrayLike) -> Array:
    """Compute ``log(1 - exp(-x))``, accurate for small and for large `x`.

    Args:
      x: any shape and dtype, positive; integers become floats.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> round(float(log1mexp(1.0)), 4)
      -0.4587

    References:
      Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    check_arraylike("log1mexp", jnp.negative(x))
    (x,) = promote_dtypes_inexact("log1mexp", x)
    return _log1mexp(x)
