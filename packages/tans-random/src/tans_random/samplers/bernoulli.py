"""Samplers of single trials: Bernoulli, Rademacher, geometric."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import finfo, issubdtype
from tans_numpy.creation import requested_dtype
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
    check_choice,
    common_shape,
    float_dtype_of,
    int_dtype,
    place,
    spread,
    static_shape,
)
from tans_random.samplers.uniform import unit_uniform
from tans_xla import composite


@composite(static_argnames=("shape", "impl", "mode"))
def _bernoulli(words: Any, p: Any, *, shape: Shape, impl: Implementation, mode: str) -> Array:
    dtype = typeof(p).dtype
    p = p if typeof(p).ndim == 0 else jnp.broadcast_to(p, shape)
    if mode == "low":
        return lax.lt(unit_uniform(words, impl, shape, dtype), p)
    first, second = lax.unstack(unit_uniform(words, impl, (2, *shape), dtype))
    scaled = lax.mul(second, dtype.type(2.0 ** -finfo(dtype).nmant))
    return lax.lt(scaled, lax.sub(p, first))


def bernoulli(
    key: Key, p: ArrayLike = 0.5, shape: ShapeLike = None, mode: str = "low", *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample booleans that are True with probability `p`.

    Args:
      key: single key.
      p: floating-point probability, which broadcasts to `shape`.
      shape: static shape; that of `p` if None.
      mode: "low" compares one number with `p`; "high" two, which is exact for small `p`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `p` is not floating-point.
      ValueError: unknown mode, `p` does not broadcast, or an array of keys.

    Example:
      >>> random.bernoulli(random.key(0), 0.5, (4,)).tolist()
      [False, False, True, True]
    """
    parts = take_apart(key, "bernoulli")
    check_choice("bernoulli", "mode", mode, ("low", "high"))
    if not issubdtype(typeof(p).dtype, np.floating):
        raise TypeError(
            f"bernoulli: given p of type {typeof(p).str_short()}, expected a floating-point "
            "probability. Write 1.0 instead of 1."
        )
    dims = common_shape(shape, "bernoulli", p)
    return place(_bernoulli(parts.words, p, shape=dims, impl=parts.impl, mode=mode), out_sharding)


def signs(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return numbers -1 and 1, each with probability one half."""
    half = dtypes.default_float().type(0.5)
    heads = lax.lt(unit_uniform(words, impl, shape, half.dtype), half)
    if dtype == np.bool_:
        # In booleans 2 x - 1 is "True and x, xor True", or True for both values, as in JAX.
        return lax.full_like(heads, True)
    return lax.sub(lax.mul(dtype.type(2), lax.convert_element_type(heads, dtype)), dtype.type(1))


@composite(static_argnames=STATIC)
def _rademacher(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return signs(words, impl, shape, dtype)


def rademacher(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Sample -1 and 1, each with probability one half.

    Args:
      key: single key.
      shape: static shape.
      dtype: dtype of the result; the default integer dtype if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: an array of keys.

    Example:
      >>> random.rademacher(random.key(0), (4,)).tolist()
      [-1, -1, 1, 1]
    """
    parts = take_apart(key, "rademacher")
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, "rademacher")
    dims = static_shape(shape, "rademacher")
    return place(_rademacher(parts.words, shape=dims, dtype=target, impl=parts.impl), out_sharding)


@composite(static_argnames=STATIC)
def _geometric(words: Any, p: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    float_type = float_dtype_of(p)
    p = spread(p, float_type, shape)
    u = unit_uniform(words, impl, shape, float_type)
    u = lax.select(lax.eq(u, float_type.type(0)), lax.full_like(u, 1), u)
    failures = lax.floor(lax.div(lax.log(u), lax.log1p(lax.neg(p))))
    return lax.convert_element_type(lax.add(failures, float_type.type(1)), dtype)


def geometric(
    key: Key, p: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample the number of trials up to the first success.

    Args:
      key: single key.
      p: probability of success of each trial, which broadcasts to `shape`.
      shape: static shape; that of `p` if None.
      dtype: integer dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not integer, `p` does not broadcast, or an array of keys.

    Example:
      >>> random.geometric(random.key(0), 0.5, (4,)).tolist()
      [1, 1, 2, 2]
    """
    parts = take_apart(key, "geometric")
    target = int_dtype(dtype, "geometric")
    dims = common_shape(shape, "geometric", p)
    return place(
        _geometric(parts.words, p, shape=dims, dtype=target, impl=parts.impl), out_sharding
    )
