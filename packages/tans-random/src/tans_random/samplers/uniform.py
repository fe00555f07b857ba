"""Random bits, and uniform floats made of them: what all other samplers stand on.

How many bits a number uses and how they become a float are part of the contract: the same key gives
the same numbers as in JAX.
"""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes
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
    as_operand,
    common_shape,
    float_dtype,
    place,
    static_shape,
)
from tans_xla import composite


def draw_bits(words: Any, impl: Implementation, width: int, shape: Shape) -> Array:
    """Return unsigned integers of `width` bits."""
    return impl.bits(words, width, shape)


@composite(static_argnames=STATIC)
def _bits(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return draw_bits(words, impl, dtype.itemsize * 8, shape)


def bits(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, *, out_sharding: Sharding = None
) -> Array:
    """Return uniform random bits as unsigned integers.

    Args:
      key: single key.
      shape: static shape.
      dtype: unsigned integer dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not unsigned, or an array of keys.

    Example:
      >>> random.bits(random.key(0), (2,)).tolist()
      [4070199207, 4202968722]
    """
    parts = take_apart(key, "bits")
    target = dtypes.default_uint() if dtype is None else requested_dtype(dtype, "bits")
    if not issubdtype(target, np.unsignedinteger):
        raise ValueError(
            f"bits: given dtype {target}, expected an unsigned integer dtype. Use randint for "
            "signed integers."
        )
    out = _bits(parts.words, shape=static_shape(shape, "bits"), dtype=target, impl=parts.impl)
    return place(out, out_sharding)


def unit_uniform(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return numbers in [0, 1): random mantissa bits of a number in [1, 2), minus 1."""
    mantissa = finfo(dtype).nmant
    width = 8 if mantissa < 8 else dtype.itemsize * 8
    drawn = draw_bits(words, impl, width, shape)
    if dtype.itemsize == 1:
        # Fused into arithmetic on 8-bit floats, which is emulated, the generator would be emitted
        # once for each use: compiling took minutes on CPU.
        drawn = lax.optimization_barrier(drawn)
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    drawn = lax.shift_right_logical(drawn, np.dtype(f"uint{width}").type(width - mantissa))
    drawn = lax.convert_element_type(drawn, unsigned) if width != unsigned.itemsize * 8 else drawn
    one = np.asarray(1, dtype).view(unsigned)[()]
    floats = lax.bitcast_convert_type(lax.bitwise_or(drawn, one), dtype)
    return lax.sub(floats, dtype.type(1))


def uniform_between(
    words: Any, impl: Implementation, shape: Shape, dtype: Any, low: Any, high: Any
) -> Array:
    """Return numbers in [low, high)."""
    low, high = (as_operand(v, dtype, shape) for v in (low, high))
    unit = unit_uniform(words, impl, shape, dtype)
    return lax.max(low, lax.add(lax.mul(unit, lax.sub(high, low)), low))


@composite(static_argnames=STATIC)
def _uniform(
    words: Any, low: Any, high: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    return uniform_between(words, impl, shape, dtype, low, high)


def uniform(
    key: Key, shape: ShapeLike = (), dtype: DTypeLike = None, minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0, *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the uniform distribution over [minval, maxval).

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      minval, maxval: bounds that broadcast to `shape`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: bounds of a size that does not broadcast to `shape`.
      ValueError: `dtype` is not floating, bounds of more dimensions than `shape`, or an array of
        keys.

    Example:
      >>> random.uniform(random.key(0), (2,)).tolist()
      [0.9476670026779175, 0.9785798788070679]
    """
    parts = take_apart(key, "uniform")
    target = float_dtype(dtype, "uniform")
    dims = common_shape(shape, "uniform", minval, maxval, error=TypeError)
    out = _uniform(parts.words, minval, maxval, shape=dims, dtype=target, impl=parts.impl)
    return place(out, out_sharding)
