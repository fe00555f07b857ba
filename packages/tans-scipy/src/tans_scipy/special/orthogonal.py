"""Functions by recurrence: Bessel functions of integer order, spherical harmonics, Bernoulli."""

import operator
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_scipy.special.operands import refuse_complex
from tans_xla import composite

type Array = Any


def bernoulli(n: int) -> Array:
    """Return the Bernoulli numbers B_0 to B_n, with B_1 = -1/2.

    Args:
      n: static, at least 0.

    Returns:
      Array [n + 1] of the default float.

    Raises:
      ValueError: negative `n`.

    Example:
      >>> bernoulli(2).tolist()[:2]
      [1.0, -0.5]
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"bernoulli: given n={n}, expected at least 0.")
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        known = sum((comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-known / (m + 1) if m == 1 or m % 2 == 0 else Fraction(0))
    return jnp.asarray([float(b) for b in numbers], dtypes.default_float())


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Compute the Bessel functions of the first kind of the orders 0 to `v`.

    Args:
      z: any shape, real; integers become floats.
      v: static highest order.
      n_iter: order at which the downward recurrence starts; above `v` and the largest `z`.

    Returns:
      Array [v + 1, ...] of the orders at `z`.

    Raises:
      ValueError: negative order, or `n_iter` not above it.

    Example:
      >>> bessel_jn(jnp.array(0.0), v=1).tolist()
      [1.0, 0.0]

    References:
      Miller's algorithm on ratios: Abramowitz and Stegun, "Handbook of mathematical functions",
      9.12.
    """
    v, n_iter = operator.index(v), operator.index(n_iter)
    if v < 0 or n_iter <= v:
        raise ValueError(
            f"bessel_jn: given v={v} and n_iter={n_iter}, expected v of at least 0 and n_iter "
            "above it. Raise n_iter with z."
        )
    refuse_complex("bessel_jn", z)
    return _bessel_jn(z, v=v, n_iter=n_iter)


@composite(static_argnames=("v", "n_iter"))
def _bessel_jn(z: Any, *, v: int, n_iter: int) -> Array:
    (z,) = promote_dtypes_inexact("bessel_jn", z)
    z = jnp.asarray(z)
    safe = jnp.where(z == 0, 1, z)

    def ratio(above: Array, n: Array) -> tuple[Array, Array]:
        # J_n / J_n-1 from J_n+1 / J_n
        found = 1 / (2 * n / safe - above)
        return found, found

    orders = jnp.arange(n_iter, 0, -1, dtype=z.dtype)
    _, ratios = lax.scan(ratio, jnp.zeros_like(z), orders)
    products = jnp.cumprod(ratios[::-1], 0)
    # J_0 + 2 (J_2 + J_4 + ...) = 1
    first = 1 / (1 + 2 * jnp.sum(products[1::2], 0))
    out = jnp.concatenate([first[None], products[:v] * first], 0)
    at_zero = (jnp.arange(v + 1) == 0).astype(z.dtype).reshape(-1, *(1,) * z.ndim)
    return jnp.where(z == 0, at_zero, out)


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Compute spherical harmonics.

    Args:
      n: degree, integers of at least 0.
      m: order, integers from -n to n; others give 0.
      theta: polar angle, from 0 to pi, radians.
      phi: azimuth, radians. All four broadcast.
      diff_n: must be None: derivatives come from `grad`.
      n_max: static bound of `n`; the largest one if None, which needs a concrete `n`.

    Returns:
      Complex array.

    Raises:
      NotImplementedError: `diff_n` is given.
      TypeError: `n` or `m` does not hold integers.
      ConcretizationTypeError: `n` is traced and `n_max` is None.

    Example:
      >>> round(float(sph_harm_y(0, 0, 0.0, 0.0).real), 4)
      0.2821
    """
    if diff_n is not None:
        raise NotImplementedError(
            f"sph_harm_y: given diff_n={diff_n}, expected None. Use grad for derivatives."
        )
    check_arraylike("sph_harm_y", n, m, theta, phi)
    for name, x in (("n", n), ("m", m)):
        if typeof(x).dtype.kind not in "biu":
            raise TypeError(
                f"sph_harm_y: given {name} of type {typeof(x).str_short()}, expected integers. "
                "Convert it with astype(int)."
            )
    bound = int(jnp.max(jnp.asarray(n))) if n_max is None else operator.index(n_max)
    return _sph_harm(n, m, theta, phi, bound=max(bound, 0))


@composite(static_argnames=("bound",))
def _sph_harm(n: Any, m: Any, theta: Any, phi: Any, *, bound: int) -> Array:
    theta, phi = promote_dtypes_inexact("sph_harm_y", theta, phi)
    n, m, theta, phi = jnp.broadcast_arrays(n, m, theta, phi)
    dtype = typeof(theta).dtype
    order = jnp.abs(m)
    x, sine = jnp.cos(theta), jnp.sin(theta)
    sectoral = jnp.full_like(x, np.sqrt(0.25 / np.pi))
    for k in range(1, bound + 1):
        sectoral = jnp.where(
            k <= order, sectoral * (-np.sqrt((2 * k + 1) / (2 * k))) * sine, sectoral
        )
    before, here, out = jnp.zeros_like(x), sectoral, jnp.where(n == order, sectoral, 0)
    square = (order * order).astype(dtype)
    for degree in range(1, bound + 1):
        is_above = degree > order
        gap = jnp.where(is_above, degree * degree - square, 1)
        last = jnp.where(is_above, (degree - 1) ** 2 - square, 1)
        a = jnp.sqrt((4 * degree * degree - 1) / gap)
        back = jnp.sqrt(jnp.maximum(last, 0) / (4 * (degree - 1) ** 2 - 1 if degree > 1 else 1))
        new = a * (x * here - jnp.where(degree == order + 1, 0, back) * before)
        before, here = jnp.where(is_above, here, before), jnp.where(is_above, new, here)
        out = jnp.where(is_above & (degree == n), new, out)
    sign = jnp.where((m < 0) & (order % 2 == 1), -1, 1)
    angle = m * phi
    return lax.complex(sign * out * jnp.cos(angle), sign * out * jnp.sin(angle))
