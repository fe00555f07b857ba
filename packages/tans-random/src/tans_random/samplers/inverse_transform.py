"""Samplers that send one uniform number through the inverse of a distribution function."""

import math
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_core.dtype_queries import finfo
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
    spread,
    static_shape,
)
from tans_random.samplers.uniform import uniform_between, unit_uniform
from tans_xla import composite


def exponential_numbers(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return numbers of the exponential distribution with rate 1."""
    return lax.neg(lax.log1p(lax.neg(unit_uniform(words, impl, shape, dtype))))


@composite(static_argnames=STATIC)
def _exponential(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return exponential_numbers(words, impl, shape, dtype)


def exponential(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the exponential distribution with rate 1.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.exponential(random.key(0), (2,)).shape
      (2,)
    """
    return draw(
        _exponential, "exponential", key, shape=shape, dtype=dtype, out_sharding=out_sharding
    )


@composite(static_argnames=STATIC)
def _laplace(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    low = dtype.type(-1 + finfo(dtype).epsneg)
    u = uniform_between(words, impl, shape, dtype, low, dtype.type(1))
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def laplace(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the Laplace distribution with scale 1.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.laplace(random.key(0), (2,)).shape
      (2,)
    """
    return draw(_laplace, "laplace", key, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _logistic(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    u = uniform_between(words, impl, shape, dtype, dtype.type(finfo(dtype).tiny), dtype.type(1))
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def logistic(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the logistic distribution with scale 1.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.logistic(random.key(0), (2,)).shape
      (2,)
    """
    return draw(_logistic, "logistic", key, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _cauchy(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    u = uniform_between(words, impl, shape, dtype, dtype.type(finfo(dtype).eps), dtype.type(1))
    return lax.tan(lax.mul(dtype.type(math.pi), lax.sub(u, dtype.type(0.5))))


def cauchy(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample from the Cauchy distribution with scale 1.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> random.cauchy(random.key(0), (2,)).shape
      (2,)
    """
    return draw(_cauchy, "cauchy", key, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _pareto(words: Any, b: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    e = exponential_numbers(words, impl, shape, dtype)
    return lax.exp(lax.div(e, spread(b, dtype, shape)))


def pareto(
    key: Key, b: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the Pareto distribution: density ``b / x**(b + 1)`` for x >= 1.

    Args:
      key: single key.
      b: shape parameter, which broadcasts to `shape`.
      shape: static shape; that of `b` if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `b` does not broadcast, or an array of keys.

    Example:
      >>> bool(random.pareto(random.key(0), 2.0) >= 1)
      True
    """
    return draw(_pareto, "pareto", key, b, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _rayleigh(words: Any, scale: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    log_u = lax.log(unit_uniform(words, impl, shape, dtype))
    return lax.mul(spread(scale, dtype, shape), lax.sqrt(lax.mul(log_u, dtype.type(-2))))


def rayleigh(
    key: Key, scale: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the Rayleigh distribution: ``scale * sqrt(-2 log(u))``.

    Args:
      key: single key.
      scale: scale, which broadcasts to `shape`.
      shape: static shape; that of `scale` if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `scale` does not broadcast, or an array of keys.

    Example:
      >>> bool(random.rayleigh(random.key(0), 2.0) >= 0)
      True
    """
    return draw(
        _rayleigh, "rayleigh", key, scale, shape=shape, dtype=dtype, out_sharding=out_sharding
    )


@composite(static_argnames=STATIC)
def _weibull_min(
    words: Any, scale: Any, concentration: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    e = exponential_numbers(words, impl, shape, dtype)
    shape = jnp.broadcast_shapes(shape, typeof(scale).shape, typeof(concentration).shape)
    e = jnp.broadcast_to(e, shape)
    power = lax.div(dtype.type(1), lax.convert_element_type(concentration, dtype))
    return lax.mul(lax.pow(e, spread(power, dtype, shape)), spread(scale, dtype, shape))


def weibull_min(
    key: Key, scale: ArrayLike, concentration: ArrayLike, shape: ShapeLike = (),
    dtype: DTypeLike = None,
) -> Array:  # fmt: skip
    """Sample from the Weibull distribution: ``scale * e ** (1 / concentration)``, e exponential.

    Args:
      key: single key.
      scale, concentration: parameters, which broadcast with `shape`.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> bool(random.weibull_min(random.key(0), 1.0, 2.0) >= 0)
      True
    """
    parts = take_apart(key, "weibull_min")
    target = float_dtype(dtype, "weibull_min")
    dims = static_shape(shape, "weibull_min")
    return _weibull_min(
        parts.words, scale, concentration, shape=dims, dtype=target, impl=parts.impl
    )


@composite(static_argnames=STATIC)
def _triangular(
    words: Any, left: Any, mode: Any, right: Any, *, shape: Shape, dtype: Any,
    impl: Implementation,
) -> Array:  # fmt: skip
    left, mode, right = (spread(v, dtype, shape) for v in (left, mode, right))
    width, rise, fall = lax.sub(right, left), lax.sub(mode, left), lax.sub(right, mode)
    u = unit_uniform(words, impl, shape, dtype)
    rest = lax.sub(dtype.type(1), u)
    below = lax.add(left, lax.sqrt(lax.mul(lax.mul(u, width), rise)))
    above = lax.sub(right, lax.sqrt(lax.mul(lax.mul(rest, width), fall)))
    return lax.select(lax.lt(u, lax.div(rise, width)), below, above)


def triangular(
    key: Key, left: ArrayLike, mode: ArrayLike, right: ArrayLike, shape: ShapeLike = None,
    dtype: DTypeLike = None, *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the distribution whose density is a triangle.

    Args:
      key: single key.
      left, mode, right: where the density starts, peaks and ends; they broadcast to `shape`.
      shape: static shape; that of the parameters if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, parameters do not broadcast, or an array of keys.

    Example:
      >>> bool(random.triangular(random.key(0), 0.0, 1.0, 2.0) <= 2)
      True
    """
    return draw(
        _triangular, "triangular", key, left, mode, right, shape=shape, dtype=dtype,
        out_sharding=out_sharding,
    )  # fmt: skip
