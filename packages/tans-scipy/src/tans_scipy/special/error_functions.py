"""The Faddeeva function and its relatives: Dawson's integral and Fresnel's integrals."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special.auxiliary import FRESNEL_BOUND, fresnel_amplitudes
from tans_scipy.special.operands import strong, wide
from tans_xla import composite

type Array = Any
type Value = Any

_ROOT_PI: Final = float(np.sqrt(np.pi))
_TERMS: Final = 64


def _coefficients(count: int) -> tuple[float, np.ndarray]:
    """Return the scale and the coefficients of Weideman's expansion in powers of a Möbius map."""
    half = 2 * count
    scale = float(np.sqrt(count / np.sqrt(2)))
    angles = np.arange(-half + 1, half) * np.pi / half
    t = scale * np.tan(angles / 2)
    f = np.exp(-t * t) * (scale**2 + t * t)
    a = np.real(np.fft.fft(np.fft.fftshift(np.concatenate([[0], f])))) / (2 * half)
    return scale, a[1 : count + 1][::-1]


_SCALE, _A = _coefficients(_TERMS)


def _upper(z: Array) -> Array:
    """Return the Faddeeva function where the imaginary part is not negative."""
    dtype = typeof(z).dtype
    below = 1 / (_SCALE - 1j * z)
    x = (_SCALE + 1j * z) * below
    total = jnp.full_like(x, _A[0])
    for a in _A[1:]:
        total = total * x + a
    return (2 * total * below * below + below / _ROOT_PI).astype(dtype)


@custom_jvp
def _wofz(z: Value) -> Array:
    is_upper = jnp.imag(z) >= 0
    above = _upper(jnp.where(is_upper, z, -z))
    below = jnp.where(is_upper, 0, z)
    out = jnp.where(is_upper, above, 2 * jnp.exp(-below * below) - above)
    # On the real axis the real part is known in full precision.
    x = jnp.real(z)
    return jnp.where(jnp.imag(z) == 0, lax.complex(jnp.exp(-x * x), jnp.imag(out)), out)


@_wofz.defjvp
def _wofz_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (z,), (z_dot,) = primals, tangents
    out = _wofz(z)
    return out, (2j / _ROOT_PI - 2 * z * out) * z_dot


@composite
def wofz(z: ArrayLike) -> Array:
    """Compute the Faddeeva function ``exp(-z**2) * erfc(-i z)``.

    Args:
      z: any shape; real numbers become complex.

    Returns:
      Complex array of the shape of `z`.

    Example:
      >>> wofz(0.0).item()
      (1+0j)

    References:
      Weideman, "Computation of the complex error function", 1994.
    """
    (z,) = promote_dtypes_inexact("wofz", z)
    z = jnp.asarray(z)
    return _wofz(z.astype(np.result_type(z.dtype, np.complex64)))


@custom_jvp
def _dawsn(x: Value) -> Array:
    is_small = jnp.abs(x) < 1
    small = jnp.where(is_small, x, 0)
    total = term = small
    for k in range(1, 26):
        term = term * (-2 * small * small) / (2 * k + 1)
        total = total + term
    large = jnp.where(is_small, 1, x)
    far = 0.5 * _ROOT_PI * jnp.imag(_upper(lax.complex(large, jnp.zeros_like(large))))
    return jnp.where(is_small, total, jnp.where(jnp.isinf(x), 0 / x, far))


@_dawsn.defjvp
def _dawsn_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    out = _dawsn(x)
    return out, (1 - 2 * x * out) * x_dot


@composite
def dawsn(x: ArrayLike) -> Array:
    """Compute Dawson's integral ``exp(-x**2) * integral of exp(t**2) from 0 to x``.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Example:
      >>> round(float(dawsn(1.0)), 4)
      0.5381
    """
    x = strong("dawsn", x)
    return _dawsn(wide(x)).astype(typeof(x).dtype)


def _small_fresnel(x: Array) -> tuple[Array, Array]:
    """Return both integrals by their power series; good up to 1.6."""
    u = 0.5 * np.pi * x * x
    c = s = jnp.zeros_like(x)
    term = x
    for n in range(36):
        part = term / (2 * n + 1)
        sign = 1 - 2 * ((n // 2) % 2)
        c, s = (c + sign * part, s) if n % 2 == 0 else (c, s + sign * part)
        term = term * u / (n + 1)
    return s, c


@custom_jvp
def _fresnel(x: Value) -> tuple[Array, Array]:
    length = jnp.abs(x)
    is_small = length < FRESNEL_BOUND
    s, c = _small_fresnel(jnp.where(is_small, length, 0))
    far = jnp.where(is_small | jnp.isinf(length), FRESNEL_BOUND, length)
    turn = 0.5 * np.pi * jnp.fmod(far * far, 4)
    f, g = fresnel_amplitudes(far)
    sine, cosine = jnp.sin(turn), jnp.cos(turn)
    ends = jnp.isinf(length)
    s = jnp.where(is_small, s, jnp.where(ends, 0.5, 0.5 - f * cosine - g * sine))
    c = jnp.where(is_small, c, jnp.where(ends, 0.5, 0.5 + f * sine - g * cosine))
    lost = jnp.isnan(x)
    return tuple(jnp.where(lost, jnp.nan, jnp.copysign(v, x)).astype(x.dtype) for v in (s, c))  # pyright: ignore[reportReturnType]


@_fresnel.defjvp
def _fresnel_jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    turn = 0.5 * np.pi * jnp.fmod(x * x, 4)
    return _fresnel(x), (jnp.sin(turn) * x_dot, jnp.cos(turn) * x_dot)


@composite
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Compute Fresnel's integrals of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to `x`.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Returns:
      The integrals of the sine and of the cosine.

    Example:
      >>> [round(float(v), 4) for v in fresnel(1.0)]
      [0.4383, 0.7799]
    """
    x = strong("fresnel", x, NotImplementedError)
    s, c = _fresnel(wide(x))
    dtype = typeof(x).dtype
    return s.astype(dtype), c.astype(dtype)
