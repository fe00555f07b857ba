"""Hypergeometric functions: sums of series, transformed to where they converge fast."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp, jvp
from tans_core import typeof
from tans_lax.elementwise.tangents import mul_tangent
from tans_numpy.operands import ArrayLike
from tans_scipy.special.gamma import gammaln, gammasgn
from tans_scipy.special.operands import broadcast, refuse_complex, wide
from tans_xla import composite

type Array = Any
type Value = Any

_TERMS_1F1: Final = 240
_TERMS_2F1: Final = 420
_FAR: Final = 50.0  # beyond it, M(a, b, x) is expanded in powers of 1 / x


def _sum(ratio: Any, like: Array, count: int) -> Array:
    """Return 1 plus the products of ratios: term k + 1 is term k times ``ratio(k)``."""

    def step(state: tuple, k: Array) -> tuple[tuple, None]:
        term, total = state
        factor = ratio(k)
        # Past its end, and past a pole of the denominator, a series keeps its value.
        has_ended = ((term == 0) & ~jnp.isfinite(factor)) | jnp.isinf(total)
        term = jnp.where(has_ended, 0, term * factor)
        return (term, total + term), None

    one = jnp.ones_like(like)
    (_, total), _ = lax.scan(step, (one, one), jnp.arange(count, dtype=like.dtype))
    return total


def _over(x: Array, y: Array) -> Array:
    """Return ``x / y``; 0 where both are."""
    return jnp.where((x == 0) & (y == 0), 0, x / y)


def _is_end(a: Array) -> Array:
    """Whether a series with this upper parameter ends."""
    return (a <= 0) & (a == jnp.round(a))


def _gamma_ratio(x: Array, y: Array) -> Array:
    """Return ``gamma(x) / gamma(y)``, 0 at the poles of the denominator."""
    is_pole = _is_end(y)
    safe = jnp.where(is_pole, 1, y)
    ratio = gammasgn(x) * gammasgn(safe) * jnp.exp(gammaln(x) - gammaln(safe))
    return jnp.where(is_pole, 0, ratio)


def _kummer(a: Array, b: Array, x: Array) -> Array:
    """Return M(a, b, x)."""
    is_negative = (x < 0) & ~_is_end(a)
    a, x = jnp.where(is_negative, b - a, a), jnp.where(is_negative, -x, x)
    is_far = (x > _FAR) & ~_is_end(a) & ~_is_end(b)
    near = jnp.where(is_far, 1, x)
    series = _sum(lambda k: _over((a + k) * near, b + k) / (k + 1), near, _TERMS_1F1)
    far = jnp.where(is_far, x, _FAR)
    tail = _sum(lambda k: (b - a + k) * (1 - a + k) / ((k + 1) * far), far, 24)
    # exp(x) times a power: joined, so that the transformed exponent cancels without overflow.
    log_scale = (a - b) * jnp.log(far) + jnp.where(is_negative, 0, far)
    beyond = _gamma_ratio(b, a) * jnp.exp(log_scale) * tail
    near = jnp.where(is_negative, jnp.exp(-near) * series, series)
    return jnp.where(is_far, beyond, near)


@custom_jvp
def _hyp1f1(a: Value, b: Value, x: Value) -> Array:
    return _kummer(a, b, x).astype(x.dtype)


@_hyp1f1.defjvp
def _hyp1f1_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (a, b, x), (a_dot, b_dot, x_dot) = primals, tangents
    by_a = jvp(lambda v: _kummer(v, b, x), (a,), (jnp.ones_like(a),))[1]
    by_b = jvp(lambda v: _kummer(a, v, x), (b,), (jnp.ones_like(b),))[1]
    by_x = a / b * _hyp1f1(a + 1, b + 1, x)
    by_parameters = mul_tangent(a_dot, by_a) + mul_tangent(b_dot, by_b)
    return _hyp1f1(a, b, x), by_parameters + by_x * x_dot


@composite
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Compute Kummer's confluent hypergeometric function M(a, b, x).

    Args:
      a, b, x: real, shapes that broadcast. For a `b` of 0, -1, -2... the result is infinite, unless
        the series ends before.

    Example:
      >>> round(float(hyp1f1(1.0, 1.0, 1.0)), 4)
      2.7183

    References:
      Pearson, Olver and Porter, "Numerical methods for the computation of the confluent and Gauss
      hypergeometric functions", 2017.
    """
    refuse_complex("hyp1f1", a, b, x)
    return _hyp1f1(*broadcast("hyp1f1", a, b, x, error=ValueError))


def _gauss(a: Array, b: Array, c: Array, x: Array) -> Array:
    """Return the series of F(a, b; c; x) for numbers from 0 to 0.9, or one that ends."""

    def ratio(k: Array) -> Array:
        return _over((a + k) * (b + k) * x, c + k) / (k + 1)

    return _sum(ratio, x, _TERMS_2F1)


def _near_one(a: Array, b: Array, c: Array, x: Array) -> Array:
    """Return F for numbers from 0.9 to 1, from expansions in 1 - x."""
    s = c - a - b
    y = 1 - x
    first = _gamma_ratio(c, c - a) * _gamma_ratio(s, c - b) * _gauss(a, b, 1 - s, y)
    power = jnp.exp(s * jnp.log(jnp.where(y == 0, 1, y)))
    power = jnp.where(y == 0, jnp.where(s > 0, 0.0, jnp.where(s == 0, 1.0, jnp.inf)), power)
    second = _gamma_ratio(c, a) * _gamma_ratio(-s, b) * _gauss(c - a, c - b, 1 + s, y)
    return first + jnp.where(second == 0, 0, power * second)


def _hyp2f1_value(a: Array, b: Array, c: Array, x: Array) -> Array:
    ends = _is_end(a) | _is_end(b)
    # Pfaff: negative numbers go to those from 0 to 1.
    is_negative = (x < 0) & ~ends
    b_or = jnp.where(is_negative, c - b, b)
    z = jnp.where(is_negative, x / (x - 1), x)
    ends = ends | _is_end(b_or)
    is_near = (z > 0.9) & ~ends
    far = _gauss(a, b_or, c, jnp.where(is_near, 0.5, z))
    # The expansions fail where c - a - b is an integer: the mean of both sides is taken there.
    s = c - a - b_or
    width = np.finfo(x.dtype).eps ** 0.25
    nearest = jnp.round(s)
    is_integer = jnp.abs(s - nearest) < width
    shift = jnp.where(is_integer, nearest + width - s, 0)
    one = jnp.where(is_near, z, 0.95)
    above = _near_one(a, b_or, c + shift, one)
    shift = jnp.where(is_integer, nearest - width - s, 0)
    below = _near_one(a, b_or, c + shift, one)
    out = jnp.where(is_near, (above + below) / 2, far)
    prefactor = jnp.exp(-a * jnp.log1p(jnp.where(is_negative, -x, 0)))
    out = jnp.where(is_negative, prefactor * out, out)
    return jnp.where((x > 1) & ~ends, jnp.inf, out)


@custom_jvp
def _hyp2f1(a: Value, b: Value, c: Value, x: Value) -> Array:
    return _hyp2f1_value(a, b, c, x).astype(x.dtype)


@_hyp2f1.defjvp
def _hyp2f1_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (a, b, c, x), (a_dot, b_dot, c_dot, x_dot) = primals, tangents
    one = jnp.ones_like(x)
    by_a = jvp(lambda v: _hyp2f1_value(v, b, c, x), (a,), (one,))[1]
    by_b = jvp(lambda v: _hyp2f1_value(a, v, c, x), (b,), (one,))[1]
    by_c = jvp(lambda v: _hyp2f1_value(a, b, v, x), (c,), (one,))[1]
    by_x = a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)
    out = _hyp2f1(a, b, c, x)
    return out, by_a * a_dot + by_b * b_dot + by_c * c_dot + by_x * x_dot


@composite
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Compute Gauss's hypergeometric function F(a, b; c; x).

    Args:
      a, b, c, x: real, shapes that broadcast; `c` not 0, -1, -2... Beyond 1 the result is inf,
        unless the series ends.

    Example:
      >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
      1.3863

    References:
      Pearson, Olver and Porter, "Numerical methods for the computation of the confluent and Gauss
      hypergeometric functions", 2017.
    """
    refuse_complex("hyp2f1", a, b, c, x)
    operands = broadcast("hyp2f1", a, b, c, x, error=ValueError)
    return _hyp2f1(*map(wide, operands)).astype(typeof(operands[0]).dtype)
