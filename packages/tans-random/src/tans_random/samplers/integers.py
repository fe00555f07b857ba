"""Sampler of uniform integers."""

import functools
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import iinfo, issubdtype
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
    common_shape,
    place,
    split_words,
)
from tans_random.samplers.uniform import draw_bits
from tans_xla import composite


@composite(static_argnames=STATIC)
def _randint(
    words: Any, low: Any, high: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    if dtype.itemsize >= 4:
        return _integers(words, low, high, shape, dtype, impl)
    # Narrow integers are drawn as 32-bit ones; the end of the interval may exceed the dtype.
    info, wide = iinfo(dtype), np.dtype(np.int32)
    low, high = (_clamped(v, wide, info.min, info.max + 1) for v in (low, high))
    return lax.convert_element_type(_integers(words, low, high, shape, wide, impl), dtype)


def _integers(
    words: Any, low: Any, high: Any, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    info = iinfo(dtype)
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    width = dtype.itemsize * 8
    too_high = lax.gt(high, typeof(high).dtype.type(info.max)) if _is_wider(high, dtype) else None
    low, high = (
        jnp.broadcast_to(_clamped(v, dtype, info.min, info.max), shape) for v in (low, high)
    )
    upper, lower = (draw_bits(w, impl, width, shape) for w in split_words(words, impl, 2))
    one = unsigned.type(1)
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    span = lax.select(lax.le(high, low), lax.full_like(span, 1), span)
    if too_high is not None:
        grown = lax.select(lax.gt(high, low), lax.add(span, one), span)
        span = lax.select(jnp.broadcast_to(too_high, shape), grown, span)
    # Two draws make the bias of the remainder negligible: (upper * 2**width + lower) mod span.
    multiplier = lax.rem(lax.full_like(span, 1 << (width // 2)), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), multiplier), lax.rem(lower, span))
    offset = lax.rem(offset, span)
    return lax.add(low, lax.convert_element_type(offset, dtype))


def _is_wider(x: Any, dtype: Any) -> bool:
    other = typeof(x).dtype
    return iinfo(other).max > iinfo(dtype).max


def _clamped(x: Any, dtype: Any, low: int, high: int) -> Any:
    own = iinfo(typeof(x).dtype)
    if own.min < low or own.max > high:
        kind = typeof(x).dtype.type
        x = lax.clamp(kind(max(low, own.min)), x, kind(min(high, own.max)))
    return lax.convert_element_type(x, dtype)


def randint(
    key: Key, shape: ShapeLike, minval: ArrayLike, maxval: ArrayLike, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample integers uniformly from [minval, maxval).

    Args:
      key: single key.
      shape: static shape.
      minval, maxval: bounds that broadcast to `shape`; floats are rounded towards 0. Bounds beyond
        the dtype are cut to its range, and minval is returned where the interval is empty.
      dtype: integer dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `dtype` is not integer, or a bound is not a number.
      OverflowError: a Python int that the default integer dtype cannot hold.
      ValueError: an array of keys, or bounds that do not broadcast.

    Example:
      >>> random.randint(random.key(0), (4,), 0, 10).tolist()
      [9, 0, 2, 3]
    """
    parts = take_apart(key, "randint")
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, "randint")
    if not issubdtype(target, np.integer):
        raise TypeError(
            f"randint: given dtype {target}, expected an integer dtype. Use uniform for floats."
        )
    low, high = (_integer_bound(v, target) for v in (minval, maxval))
    dims = common_shape(shape, "randint", low, high)
    out = _randint(parts.words, low, high, shape=dims, dtype=target, impl=parts.impl)
    return place(out, out_sharding)


@functools.cache
def _range(dtype: Any) -> range:
    """Return the integers of a dtype."""
    info = iinfo(dtype)
    return range(info.min, info.max + 1)


def _integer_bound(x: Any, dtype: Any) -> Any:
    if type(x) is int:
        if x in _range(dtype):
            return dtype.type(x)
        wide = dtypes.default_int()
        if x not in _range(wide):
            raise OverflowError(
                f"randint: given the bound {x}, expected one that {wide} can hold. Switch on "
                "jax_enable_x64, or draw random.bits."
            )
        return wide.type(x)
    own = typeof(x).dtype
    if issubdtype(own, np.integer):
        return x
    if not (issubdtype(own, np.floating) or own == np.bool_):
        raise TypeError(
            f"randint: given a bound of type {typeof(x).str_short()}, expected real numbers. "
            "Convert it with .astype(int)."
        )
    return lax.convert_element_type(x, dtypes.default_int())
