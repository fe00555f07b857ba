"""Samplers of Gumbel numbers and, by their maximum, of categories."""

import math
import operator
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import config, dtypes, typeof
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
    check_choice,
    draw,
    float_dtype,
    place,
    static_shape,
)
from tans_random.samplers.uniform import uniform_between, unit_uniform
from tans_xla import composite


def gumbel_numbers(words: Any, impl: Implementation, shape: Shape, dtype: Any, mode: str) -> Array:
    """Return numbers of the standard Gumbel distribution."""
    if mode == "high":
        first, second = lax.unstack(unit_uniform(words, impl, (2, *shape), dtype))
        eps, half_step = finfo(dtype).eps, finfo(dtype).eps * finfo(dtype).epsneg
        joined = lax.add(first, lax.mul(dtype.type(eps), second))
        # Half of the smallest step keeps the numbers away from 0.
        joined = lax.add(joined, dtype.type(half_step))
        x = lax.select(lax.ge(first, dtype.type(0.5)), first, joined)
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    u = uniform_between(words, impl, shape, dtype, dtype.type(finfo(dtype).tiny), dtype.type(1))
    return lax.neg(lax.log(lax.neg(lax.log(u))))


@composite(static_argnames=(*STATIC, "mode"))
def _gumbel(words: Any, *, shape: Shape, dtype: Any, impl: Implementation, mode: str) -> Array:
    return gumbel_numbers(words, impl, shape, dtype, mode)


def gumbel_mode(mode: str | None, name: str) -> str:
    """Return the way to make Gumbel numbers; that of the flag if None."""
    if mode is None:
        mode = "high" if config.high_dynamic_range_gumbel.value else "low"
    check_choice(name, "mode", mode, ("low", "high"))
    return mode


def gumbel(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, mode: str | None = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the standard Gumbel distribution: -log(-log(u)).

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      mode: "low", or "high" for a larger range at twice the bits; that of the flag
        `jax_high_dynamic_range_gumbel` if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, an unknown mode, or an array of keys.

    Example:
      >>> random.gumbel(random.key(0), (3,)).shape
      (3,)
    """
    return draw(
        _gumbel, "gumbel", key, shape=shape, dtype=dtype, out_sharding=out_sharding,
        mode=gumbel_mode(mode, "gumbel"),
    )  # fmt: skip


@composite(static_argnames=("shape", "axis", "impl", "mode"))
def _categorical(
    words: Any, logits: Any, *, shape: Shape, axis: int, impl: Implementation, mode: str
) -> Array:
    own = typeof(logits).shape
    batch = own[:axis] + own[axis + 1 :]
    extra = shape[: len(shape) - len(batch)]
    drawn = gumbel_numbers(words, impl, (*extra, *own), typeof(logits).dtype, mode)
    scores = lax.add(drawn, jnp.broadcast_to(logits, (*extra, *own)))
    return lax.argmax(scores, len(extra) + axis, dtypes.default_int())


@composite(static_argnames=("count", "axis", "impl", "mode"))
def _categorical_distinct(
    words: Any, logits: Any, *, count: int, axis: int, impl: Implementation, mode: str
) -> Array:
    own = typeof(logits).shape
    scores = lax.add(gumbel_numbers(words, impl, own, typeof(logits).dtype, mode), logits)
    return lax.top_k(jnp.moveaxis(scores, axis, -1), count)[1]


def categorical(
    key: Key, logits: ArrayLike, axis: int = -1, shape: ShapeLike = None, replace: bool = True,
    mode: str | None = None, *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample indices with probabilities proportional to ``exp(logits)``.

    Args:
      key: single key.
      logits: unnormalised log probabilities, floats of any shape with at least one dimension.
      axis: dimension of `logits` that indices range over.
      shape: static shape that the other dimensions broadcast to; theirs if None.
      replace: whether an index may be drawn again.
      mode: as for `gumbel`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `logits` is a list.
      ValueError: the shape does not fit, more distinct indices than there are, logits that are not
        floats, or an array of keys.
      IndexError: `axis` is out of range.

    Example:
      >>> random.categorical(random.key(0), jnp.zeros(4), shape=(3,)).shape
      (3,)
    """
    parts = take_apart(key, "categorical")
    aval = typeof(logits)
    own, ndim = aval.shape, aval.ndim
    float_dtype(aval.dtype, "categorical")
    at = operator.index(axis)
    if not -ndim <= at < ndim:
        raise IndexError(
            f"categorical: given axis={axis} for logits with shape {own}, expected {-ndim} to "
            f"{ndim - 1}. Count from the end with negative numbers."
        )
    at = at + ndim if at < 0 else at
    batch = own[:at] + own[at + 1 :]
    dims = batch if shape is None else static_shape(shape, "categorical")
    if shape is not None and jnp.broadcast_shapes(dims, batch) != dims:
        raise ValueError(
            f"categorical: given the shape {dims} for logits with shape {own}, expected one that "
            f"the other dimensions {batch} broadcast to. Put extra dimensions first."
        )
    mode = gumbel_mode(mode, "categorical")
    if replace:
        out = _categorical(parts.words, logits, shape=dims, axis=at, impl=parts.impl, mode=mode)
        return place(out, out_sharding)
    count = math.prod(dims[: len(dims) - len(batch)])
    if count > own[at]:
        raise ValueError(
            f"categorical: given replace=False and {count} draws of {own[at]} indices, expected at "
            "most as many draws as indices. Pass replace=True, or draw fewer."
        )
    out = _categorical_distinct(
        parts.words, logits, count=count, axis=at, impl=parts.impl, mode=mode
    )
    return place(jnp.reshape(jnp.moveaxis(out, -1, 0), dims), out_sharding)
