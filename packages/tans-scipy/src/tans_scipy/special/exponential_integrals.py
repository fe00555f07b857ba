"""Exponential integrals."""

from typing import Any, Final

import numpy as np

import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_core import typeof
from tans_numpy.operands import ArrayLike
from tans_scipy.special.operands import strong
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer

# Up to 2 the power series is summed; beyond it a continued fraction, in the form that needs no
# alternating steps: E1(x) = exp(-x) / (x + 1 - 1 / (x + 3 - 4 / (x + 5 - 9 / (x + 7 - ...)))).
_BOUND: Final = 2.0
_SERIES_TERMS: Final = 24
_DEPTH: Final = 50
# Ei(x) for positive x: its series has positive terms; above this bound it is asymptotic.
_FAR: Final = 40.0
_FAR_TERMS: Final = 30
_NEAR_TERMS: Final = 120


def _power_series(x: Array, terms: int) -> Array:
    """Return the sum of ``x**k / (k k!)`` over k = 1, 2..."""
    total, term = jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(1, terms + 1):
        term = term * (x / k)
        total = total + term / k
    return total


def _e1(x: Array) -> Array:
    """Return E1 of positive numbers."""
    is_small = x <= _BOUND
    small, large = jnp.where(is_small, x, 1), jnp.where(is_small, _BOUND, x)
    near = -np.euler_gamma - jnp.log(small) - _power_series(-small, _SERIES_TERMS)
    tail = large + (2 * _DEPTH + 1)
    for k in range(_DEPTH, 0, -1):
        tail = large + (2 * k - 1) - (k * k) / tail
    return jnp.where(is_small, near, jnp.exp(-large) / tail)


@custom_jvp
def _exp1(x: Value) -> Array:
    out = _e1(jnp.where(x > 0, x, 1))
    return jnp.where(x > 0, out, jnp.where(x == 0, np.inf, np.nan))


@_exp1.defjvp
def _exp1_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _exp1(x), -x_dot * (jnp.exp(-x) / x)


@custom_jvp
def _expi(x: Value) -> Array:
    is_near = (x > 0) & (x < _FAR)
    near = jnp.where(is_near, x, 1)
    series = np.euler_gamma + jnp.log(near) + _power_series(near, _NEAR_TERMS)
    far = jnp.where(x >= _FAR, x, _FAR)
    total = jnp.ones_like(far)
    for k in range(_FAR_TERMS, 0, -1):
        total = 1 + total * (k / far)
    above = jnp.where(is_near, series, jnp.exp(far) / far * total)
    below = -_e1(jnp.where(x < 0, -x, 1))
    return jnp.where(x > 0, above, jnp.where(x == 0, -np.inf, below))


@_expi.defjvp
def _expi_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _expi(x), x_dot * (jnp.exp(x) / x)


@composite
def exp1(x: ArrayLike) -> Array:
    """Compute the integral of ``exp(-t) / t`` from `x` to infinity.

    Args:
      x: any shape, real; integers become floats, a weak type ends; nan for negative
        `x`, where ``-expi(-x)`` is the principal value.

    Example:
      >>> round(float(exp1(1.0)), 4)
      0.2194

    References:
      Abramowitz and Stegun, "Handbook of mathematical functions", 1964, 5.1.
    """
    return _exp1(strong("exp1", x))


@composite
def expi(x: ArrayLike) -> Array:
    """Compute the integral of ``exp(t) / t`` from minus infinity to `x`, as a principal value.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Example:
      >>> round(float(expi(1.0)), 4)
      1.8951

    References:
      Abramowitz and Stegun, "Handbook of mathematical functions", 1964, 5.1.
    """
    x = strong("expi", x)
    return _expi(x).astype(typeof(x).dtype)
