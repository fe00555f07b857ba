"""Modified Bessel functions of order 0 and 1."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special.operands import refuse_complex
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer


# The scaled functions have a kink at 0, which these have not: hence rules of their own.
@custom_jvp
def _i0(x: Value) -> Array:
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


@_i0.defjvp
def _i0_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _i0(x), x_dot * _i1(x)


@custom_jvp
def _i1(x: Value) -> Array:
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@_i1.defjvp
def _i1_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    out = _i1(x)
    is_zero = x == 0
    quotient = jnp.where(is_zero, 0.5, out / jnp.where(is_zero, 1, x))
    return out, x_dot * (_i0(x) - quotient)


@composite
def i0e(x: ArrayLike) -> Array:
    """Compute ``exp(-abs(x)) * i0(x)``.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(i0e(0.0))
      1.0
    """
    return lax.bessel_i0e(*promote_dtypes_inexact("i0e", x))


@composite
def i0(x: ArrayLike) -> Array:
    """Compute the modified Bessel function of the first kind and order 0.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(i0(0.0))
      1.0
    """
    (x,) = promote_dtypes_inexact("i0", x)
    refuse_complex("i0", x)
    return _i0(x)


@composite
def i1e(x: ArrayLike) -> Array:
    """Compute ``exp(-abs(x)) * i1(x)``.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(i1e(0.0))
      0.0
    """
    return lax.bessel_i1e(*promote_dtypes_inexact("i1e", x))


@composite
def i1(x: ArrayLike) -> Array:
    """Compute the modified Bessel function of the first kind and order 1.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(i1(0.0))
      0.0
    """
    (x,) = promote_dtypes_inexact("i1", x)
    refuse_complex("i1", x)
    return _i1(x)
