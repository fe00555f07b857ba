"""Distributions with density exp(-abs(x)**p): on the line, and in the unit ball."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.random_gamma import random_gamma
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
from tans_random.samplers.inverse_transform import exponential_numbers
from tans_xla import composite


def generalized_normal_numbers(
    words: Any, p: Any, impl: Implementation, shape: Shape, dtype: Any
) -> Array:
    """Return numbers with density proportional to ``exp(-abs(x)**p)``."""
    power = spread(jnp.true_divide(1, p), dtype, shape)
    first, second = split_words(words, impl, 2)
    size = lax.pow(random_gamma(first, power, impl), power)
    return lax.mul(signs(second, impl, shape, dtype), size)


@composite(static_argnames=STATIC)
def _generalized_normal(
    words: Any, p: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    return generalized_normal_numbers(words, p, impl, shape, dtype)


def generalized_normal(
    key: Key, p: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the distribution with density proportional to ``exp(-abs(x)**p)``.

    Args:
      key: single key.
      p: exponent, which broadcasts to `shape`.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `p` does not broadcast, or an array of keys.

    Example:
      >>> random.generalized_normal(random.key(0), 4.0, (3,)).shape
      (3,)
    """
    return draw(
        _generalized_normal, "generalized_normal", key, p, shape=shape, dtype=dtype,
        out_sharding=out_sharding,
    )  # fmt: skip


@composite(static_argnames=STATIC)
def _ball(words: Any, p: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    first, second = split_words(words, impl, 2)
    x = generalized_normal_numbers(first, p, impl, shape, dtype)
    p = lax.convert_element_type(p, dtype)
    total = jnp.sum(lax.pow(lax.abs(x), spread(p, dtype, shape)), -1)
    total = lax.add(total, exponential_numbers(second, impl, shape[:-1], dtype))
    radius = lax.pow(total, spread(lax.div(dtype.type(1), p), dtype, shape[:-1]))
    return lax.div(x, lax.expand_dims(radius, (len(shape) - 1,)))


def ball(
    key: Key, d: int, p: ArrayLike = 2, shape: ShapeLike = (), dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample uniformly from the ball of radius 1 in the p-norm.

    Args:
      key: single key.
      d: dimension of the ball.
      p: scalar, the norm's exponent.
      shape: static batch shape.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [*shape, d].

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.

    Example:
      >>> bool(jnp.sum(random.ball(random.key(0), 3) ** 2) <= 1)
      True

    References:
      Barthe, Guédon, Mendelson, Naor, "A probabilistic approach to the geometry of the l_p^n ball",
      2005.
    """
    parts = take_apart(key, "ball")
    target = float_dtype(dtype, "ball")
    dims = (*static_shape(shape, "ball"), *static_shape(d, "ball"))
    return place(_ball(parts.words, p, shape=dims, dtype=target, impl=parts.impl), out_sharding)
