"""Sine and cosine integrals, the dilogarithm, exponential integrals of any order, Owen's T."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike
from tans_scipy.special.auxiliary import SINE_BOUND, sine_amplitudes
from tans_scipy.special.gamma import digamma, gammaln
from tans_scipy.special.normal import ndtr
from tans_scipy.special.operands import broadcast, refuse_complex, strong, wide
from tans_xla import composite

type Array = Any
type Value = Any


# Up to the bound of the amplitudes the power series of Si and Ci are summed, beyond it waves.
@custom_jvp
def _sici(x: Value) -> tuple[Array, Array]:
    length = jnp.abs(x)
    is_near = length <= SINE_BOUND
    near = jnp.where(is_near, length, 1)
    si, ci = near, jnp.zeros_like(near)
    term = near
    for k in range(2, 38):
        term = term * near / k
        sign = 1 - 2 * ((k // 2) % 2)
        si, ci = (si, ci + sign * term / k) if k % 2 == 0 else (si + sign * term / k, ci)
    ci = ci + np.euler_gamma + jnp.log(near)
    far = jnp.where(is_near | jnp.isinf(length), SINE_BOUND, length)
    f, g = sine_amplitudes(far)
    sine, cosine = jnp.sin(far), jnp.cos(far)
    far_si = jnp.where(jnp.isinf(length), np.pi / 2, np.pi / 2 - f * cosine - g * sine)
    far_ci = jnp.where(jnp.isinf(length), 0, f * sine - g * cosine)
    si = jnp.copysign(jnp.where(is_near, si, far_si), x)
    ci = jnp.where(x == 0, -jnp.inf, jnp.where(is_near, ci, far_ci))
    lost = jnp.isnan(x)
    return tuple(jnp.where(lost, jnp.nan, v).astype(x.dtype) for v in (si, ci))  # pyright: ignore[reportReturnType]


@_sici.defjvp
def _sici_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    return _sici(x), (jnp.sinc(x / np.pi) * x_dot, jnp.cos(x) / x * x_dot)


@composite
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the sine and cosine integrals.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Returns:
      The integral of ``sin(t) / t`` from 0 to `x`, and Euler's constant plus ``log(abs(x))`` plus
      the integral of ``(cos(t) - 1) / t``.

    Example:
      >>> [round(float(v), 4) for v in sici(1.0)]
      [0.9461, 0.3374]
    """
    x = strong("sici", x)
    si, ci = _sici(wide(x))
    dtype = typeof(x).dtype
    return si.astype(dtype), ci.astype(dtype)


_DEBYE: Final = (
    1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000,
    1 / 1120863744000, -3617 / 181400588328960000, 43867 / 97072790126247936000,
)  # fmt: skip


@custom_jvp
def _spence(x: Value) -> Array:
    # With z = 1 - x: Li2(z) = u - u**2 / 4 + sum of B_2k u**(2k+1) / (2k+1)!, u = -log(1 - z).
    is_low, is_high = x < 0.5, x > 2
    safe = jnp.where(is_low | is_high, 1, x)
    low, high = jnp.where(is_low, x, 0.25), jnp.where(is_high, x, 4)
    u = jnp.where(
        is_low, -jnp.log1p(-low), jnp.where(is_high, jnp.log1p(-1 / high), -jnp.log(safe))
    )
    square = u * u
    total = jnp.zeros_like(u)
    for c in reversed(_DEBYE):
        total = total * square + c
    series = u - square / 4 + u * square * total
    inner = jnp.where(low == 0, 0, jnp.log(jnp.where(low == 0, 1, low)) * jnp.log1p(-low))
    log_high = jnp.log(high - 1)
    out = jnp.where(is_low, np.pi**2 / 6 - inner - series, series)
    out = jnp.where(is_high, -(np.pi**2) / 6 - log_high * log_high / 2 - series, out)
    return jnp.where(x < 0, jnp.nan, jnp.where(jnp.isinf(x), -jnp.inf, out)).astype(x.dtype)


@_spence.defjvp
def _spence_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    at_one = x == 1
    slope = jnp.where(at_one, -1, jnp.log(x) / jnp.where(at_one, 1, 1 - x))
    return _spence(x), slope * x_dot


@composite
def spence(x: ArrayLike) -> Array:
    """Compute the integral of ``log(t) / (1 - t)`` from 1 to `x`, the dilogarithm of ``1 - x``.

    Args:
      x: any shape, real; integers become floats, a weak type ends. Negative numbers give nan.

    Example:
      >>> round(float(spence(0.0)), 4)
      1.6449

    References:
      Zagier, "The dilogarithm function", 2007.
    """
    return _spence(strong("spence", jnp.asarray(x), TypeError))


@custom_jvp
def _expn(n: Value, x: Value) -> Array:
    is_small = x <= 1
    small, large = jnp.where(is_small & (x > 0), x, 0.5), jnp.where(is_small, 2, x)
    order = jnp.maximum(n, 1)
    # The term m = n - 1 of the power series has a logarithm.
    total = jnp.zeros_like(small)
    power = jnp.ones_like(small)
    for m in range(26):
        gap = m - order + 1
        total = total - jnp.where(gap == 0, 0, power / jnp.where(gap == 0, 1, gap))
        power = power * (-small) / (m + 1)
    magnitude = jnp.exp((order - 1) * jnp.log(small) - gammaln(order))
    sign = jnp.where(order % 2 == 1, 1, -1)
    near = sign * magnitude * (digamma(order) - jnp.log(small)) + total
    depth = 90
    tail = large + order + 2 * depth
    for k in range(depth, 0, -1):
        tail = large + order + 2 * (k - 1) - k * (order + k - 1) / tail
    far = jnp.exp(-large) / tail
    out = jnp.where(is_small, near, far)
    first = jnp.exp(-x) / x
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), jnp.inf)
    out = jnp.where(n == 0, first, jnp.where(x == 0, at_zero, out))
    return jnp.where((x < 0) | (n < 0) | jnp.isnan(x), jnp.nan, out).astype(x.dtype)


@_expn.defjvp
def _expn_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (n, x), (_, x_dot) = primals, tangents
    first = jnp.exp(-x) * (1 / x + 1 / (x * x))
    slope = jnp.where(n == 0, first, _expn(jnp.maximum(n - 1, 0), x))
    return _expn(n, x), -slope * x_dot


@composite
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Compute the integral of ``exp(-x t) / t**n`` over t from 1 to infinity.

    Args:
      n: order, integers of at least 0.
      x: real, at least 0; broadcast against `n`. Negative numbers give nan.

    Example:
      >>> round(float(expn(2, 1.0)), 4)
      0.1485

    References:
      Abramowitz and Stegun, "Handbook of mathematical functions", 1964, 5.1.12 and 5.1.22.
    """
    refuse_complex("expn", n, x)
    n, x = broadcast("expn", n, x, error=ValueError)
    return _expn(lax.stop_gradient(n), x)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def _owens(h: Array, a: Array) -> Array:
    """Return T for h of at least 0 and a from 0 to 1, by Gauss's quadrature."""
    end = jnp.minimum(a, 10 / jnp.maximum(h, 1e-3))
    total = jnp.zeros_like(h)
    half_square = -0.5 * h * h
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        t = end * (0.5 + 0.5 * node)
        square = 1 + t * t
        total = total + 0.5 * weight * jnp.exp(half_square * square) / square
    return total * end / (2 * np.pi)


@custom_jvp
def _owens_t(h: Value, a: Value) -> Array:
    length, slope = jnp.abs(h), jnp.abs(a)
    is_flat = slope <= 1
    steep = jnp.where(is_flat, 1, slope)
    scaled = length * jnp.where(jnp.isinf(steep), 1, steep)
    scaled = jnp.where(jnp.isinf(steep) & (length > 0), jnp.inf, scaled)
    inner = _owens(
        jnp.where(is_flat, length, jnp.where(jnp.isinf(scaled), 0, scaled)),
        jnp.where(is_flat, slope, 1 / steep),
    )
    inner = jnp.where(~is_flat & jnp.isinf(scaled), 0, inner)
    # T(h, a) + T(ah, 1/a) = (Q(h) + Q(ah)) / 2 - Q(h) Q(ah), with Q the upper tails.
    p, q = ndtr(-length), ndtr(-scaled)
    out = jnp.where(is_flat, inner, (p + q) / 2 - p * q - inner)
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), jnp.nan, jnp.copysign(out, a)).astype(h.dtype)


@_owens_t.defjvp
def _owens_t_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (h, a), (h_dot, a_dot) = primals, tangents
    density = jnp.exp(-0.5 * h * h) / np.sqrt(2 * np.pi)
    by_h = -density * (ndtr(a * h) - 0.5)
    by_a = jnp.exp(-0.5 * h * h * (1 + a * a)) / (2 * np.pi * (1 + a * a))
    return _owens_t(h, a), by_h * h_dot + by_a * a_dot


@composite
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Compute Owen's T: the probability that X > h and 0 < Y < a X for standard normal X and Y.

    Args:
      h, a: real, shapes that broadcast.

    Returns:
      Array of the common shape, of the default float or the wider dtype of the operands.

    Example:
      >>> round(owens_t(0.0, 1.0).item(), 6)
      0.125

    References:
      Owen, "Tables for computing bivariate normal probabilities", 1956.
    """
    refuse_complex("owens_t", h, a)
    h, a, _ = broadcast("owens_t", h, a, dtypes.default_float().type(0))
    return _owens_t(h, a)
