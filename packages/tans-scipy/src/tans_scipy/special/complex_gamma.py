"""The logarithm of the gamma function of complex numbers."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof

type Array = Any

# B_2k / (2k (2k - 1)), the coefficients of Stirling's series.
_STIRLING: Final = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
# How far z is moved to the right, until the series reaches the precision of the dtype; not further,
# since the logarithms that lead back cancel.
_STEPS: Final = {"complex128": 10}
_DEFAULT_STEPS: Final = 3


def _right(z: Array) -> Array:
    """Return the logarithm where the real part is at least 1/2: Stirling's series further on."""
    steps = _STEPS.get(typeof(z).dtype.name, _DEFAULT_STEPS)
    # A loop, since a compiler that fuses ten complex logarithms needs many seconds.
    product = lax.fori_loop(
        0, steps, lambda k, total: total + jnp.log(z + k.astype(z.dtype)), jnp.zeros_like(z)
    )
    far = z + steps
    square = 1 / (far * far)
    total = jnp.zeros_like(z)
    for c in reversed(_STIRLING):
        total = total * square + c
    stirling = (far - 0.5) * jnp.log(far) - far + 0.5 * np.log(2 * np.pi) + total / far
    return stirling - product


def complex_loggamma(z: Array) -> Array:
    """Return the principal branch of the logarithm of gamma; nan at its poles.

    Args:
      z: any shape, complex.

    References:
      Hare, "Computing the principal branch of log-Gamma", 1997.
    """
    z = jnp.asarray(z)
    is_right = jnp.real(z) >= 0.5
    above = _right(jnp.where(is_right, z, 1 - z))
    # Reflection, with log(sin(pi z)) continued from the upper half-plane; the lower mirrors it.
    is_upper = ~jnp.signbit(jnp.imag(z))
    left = jnp.where(is_right, 0.25 + 0.25j, z)
    upper = jnp.where(is_upper, left, jnp.conj(left))
    wave = jnp.exp(2j * np.pi * upper)
    log_sine = -1j * np.pi * (upper - 0.5) + jnp.log1p(-wave) - np.log(2)
    log_sine = jnp.where(is_upper, log_sine, jnp.conj(log_sine))
    out = jnp.where(is_right, above, np.log(np.pi) - log_sine - above)
    is_pole = (jnp.imag(z) == 0) & (jnp.real(z) <= 0) & (jnp.real(z) == jnp.floor(jnp.real(z)))
    return jnp.where(is_pole, complex(np.nan, np.nan), out)
