"""Result types of random bits."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.random_bits import rng_bit_generator_p, rng_uniform_p, threefry2x32_p

_UINT32: Final = np.dtype("uint32")
_STATES: Final = (((4,), _UINT32), ((2,), np.dtype("uint64")))


def _threefry_type(*avals: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    types = ", ".join(aval.str_short(short_dtypes=False) for aval in avals)
    if any(aval.dtype != _UINT32 for aval in avals):
        raise TypeError(
            f"threefry2x32: given arguments of types {types}, expected uint32. "
            "Convert keys with lax.bitcast_convert_type and counters with astype."
        )
    shapes = {aval.shape for aval in avals if aval.shape}
    if len(shapes) > 1:
        raise TypeError(
            f"threefry2x32: given arguments of types {types}, expected one shape; scalars are "
            "broadcast. Broadcast the others first."
        )
    out = ShapedArray(shapes.pop() if shapes else (), _UINT32)
    return out, out


def _rng_bit_generator_type(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: Any, algorithm: Any, out_sharding: Any
) -> tuple[ShapedArray, ShapedArray]:
    del algorithm, out_sharding
    if (key.shape, key.dtype) not in _STATES:
        raise TypeError(
            f"rng_bit_generator: given a key of type {key.str_short(short_dtypes=False)}, expected "
            "uint32[4] or uint64[2]. For random.key objects use random.bits."
        )
    if not issubdtype(dtype, np.unsignedinteger):
        raise TypeError(
            f"rng_bit_generator: given dtype {dtype}, expected uint8, uint16, uint32 or uint64. "
            "For floats use random.uniform."
        )
    return key, ShapedArray(shape, dtype)


def _rng_uniform_type(a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    if a.shape or b.shape:
        raise ValueError(
            f"rng_uniform: given bounds of shapes {a.shape} and {b.shape}, expected scalars. "
            "Draw from [0, 1) and scale the result."
        )
    if a.dtype != b.dtype:
        raise ValueError(
            f"rng_uniform: given bounds of dtypes {a.dtype} and {b.dtype}, expected the same. "
            "Convert one of them."
        )
    return a.update(shape=shape, weak_type=a.weak_type and b.weak_type)


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    threefry2x32_p: _threefry_type,
    rng_bit_generator_p: _rng_bit_generator_type,
    rng_uniform_p: _rng_uniform_type,
}
