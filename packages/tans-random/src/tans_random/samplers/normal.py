"""Samplers made of normal numbers."""

import math
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    draw,
    float_dtype,
    place,
    split_words,
    spread,
    static_shape,
)
from tans_random.samplers.bernoulli import signs
from tans_random.samplers.uniform import uniform_between
from tans_xla import composite


def real_normal(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return standard normal numbers: sqrt(2) erf_inv(u), u uniform in (-1, 1)."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))[()]
    u = uniform_between(words, impl, shape, dtype, low, dtype.type(1))
    return lax.mul(dtype.type(math.sqrt(2)), lax.erf_inv(u))


def any_normal(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return standard normal numbers, real or complex."""
    if not dtypes.is_complex(dtype):
        return real_normal(words, impl, shape, dtype)
    part = np.dtype(dtype.type(0).real.dtype)
    real, imag = (real_normal(w, impl, shape, part) for w in split_words(words, impl, 2))
    return lax.div(lax.complex(real, imag), dtype.type(math.sqrt(2)))


@composite(static_argnames=STATIC)
def _normal(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return any_normal(words, impl, shape, dtype)


def normal(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the standard normal distribution.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point or complex dtype; complex numbers have variance 1.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is an integer dtype, or an array of keys.

    Example:
      >>> random.normal(random.key(0), (2,)).shape
      (2,)
    """
    parts = take_apart(key, "normal")
    target = float_dtype(dtype, "normal", allow_complex=True)
    out = _normal(parts.words, shape=static_shape(shape, "normal"), dtype=target, impl=parts.impl)
    return place(out, out_sharding)


@composite(static_argnames=STATIC)
def _truncated_normal(
    words: Any, lower: Any, upper: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    root = dtype.type(math.sqrt(2))
    lower, upper = (spread(v, dtype, shape) for v in (lower, upper))
    low, high = (lax.erf(lax.div(v, root)) for v in (lower, upper))
    u = uniform_between(words, impl, shape, dtype, low, high)
    out = lax.mul(root, lax.erf_inv(u))
    # Rounding may put a number on a bound or beyond it; the bounds are open.
    inner = lax.nextafter(lax.stop_gradient(lower), lax.full(shape, np.inf, dtype))
    outer = lax.nextafter(lax.stop_gradient(upper), lax.full(shape, -np.inf, dtype))
    return lax.min(lax.max(out, inner), outer)


def truncated_normal(
    key: Key, lower: ArrayLike, upper: ArrayLike, shape: ShapeLike = None,
    dtype: DTypeLike = None, *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the standard normal distribution, given that the number is between two bounds.

    Args:
      key: single key.
      lower, upper: open bounds, which broadcast to `shape`.
      shape: static shape; that of the bounds if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, bounds do not broadcast, or an array of keys.

    Example:
      >>> bool((random.truncated_normal(random.key(0), 0.0, 1.0, (9,)) > 0).all())
      True
    """
    return draw(
        _truncated_normal, "truncated_normal", key, lower, upper, shape=shape, dtype=dtype,
        out_sharding=out_sharding,
    )  # fmt: skip


@composite(static_argnames=STATIC)
def _lognormal(words: Any, sigma: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return lax.exp(lax.mul(real_normal(words, impl, shape, dtype), spread(sigma, dtype, shape)))


def lognormal(
    key: Key, sigma: ArrayLike = 1.0, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the log-normal distribution: exp(sigma * z), z standard normal.

    Args:
      key: single key.
      sigma: standard deviation of the logarithm, which broadcasts to `shape`.
      shape: static shape; that of `sigma` if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `sigma` does not broadcast, or an array of keys.

    Example:
      >>> random.lognormal(random.key(0), 0.5, (2,)).shape
      (2,)
    """
    return draw(
        _lognormal, "lognormal", key, sigma, shape=shape, dtype=dtype, out_sharding=out_sharding
    )


def maxwell_numbers(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return lengths of vectors of three normal numbers."""
    z = real_normal(words, impl, (*shape, 3), dtype)
    return lax.sqrt(jnp.sum(lax.mul(z, z), -1))


@composite(static_argnames=STATIC)
def _maxwell(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return maxwell_numbers(words, impl, shape, dtype)


def maxwell(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the Maxwell distribution: the length of a vector of three normal numbers.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.maxwell(random.key(0), (2,)).shape
      (2,)
    """
    return draw(_maxwell, "maxwell", key, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _double_sided_maxwell(
    words: Any, loc: Any, scale: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    own = jnp.broadcast_shapes(typeof(loc).shape, typeof(scale).shape)
    # The shape () stands for that of the parameters, which then comes twice, as in JAX.
    shape = (shape or own) + own
    length, sign = split_words(words, impl, 2)
    out = lax.mul(signs(sign, impl, shape, dtype), maxwell_numbers(length, impl, shape, dtype))
    return lax.add(lax.mul(out, spread(scale, dtype, shape)), spread(loc, dtype, shape))


def double_sided_maxwell(
    key: Key, loc: ArrayLike, scale: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike = None
) -> Array:
    """Sample from the Maxwell distribution mirrored at `loc`, stretched by `scale`.

    Args:
      key: single key.
      loc, scale: place and width, which broadcast together to a shape ``own``.
      shape: static shape of the draws for each element of the parameters; ``own`` if ().
      dtype: floating-point dtype; the default one if None.

    Returns:
      Array of shape ``shape + own``.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.double_sided_maxwell(random.key(0), 0.0, jnp.ones(3), (2,)).shape
      (2, 3)
    """
    parts = take_apart(key, "double_sided_maxwell")
    target = float_dtype(dtype, "double_sided_maxwell")
    dims = static_shape(shape, "double_sided_maxwell")
    return _double_sided_maxwell(parts.words, loc, scale, shape=dims, dtype=target, impl=parts.impl)
