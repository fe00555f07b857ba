"""Threefry-2x32 as a counter-based generator of keys and bits.

References:
  Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

import math
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core.config import threefry_partitionable
from tans_xla.sizes import Size, is_symbolic

type Words = Any
type Shape = tuple[int, ...]

_U32 = np.dtype(np.uint32)
_LIMIT = 1 << 32


def seed(words: Words) -> Words:
    """Return the key of a seed: its high and low 32 bits."""
    return words


def _block(key: Words, high: Any, low: Any) -> tuple[Any, Any]:
    return lax.threefry2x32(_word(key, 0), _word(key, 1), high, low)


def _word(key: Words, i: int) -> Any:
    return lax.index_in_dim(key, i, 0, keepdims=False)


def count_up(size: Size) -> Any:
    """Return the counters 0 to size - 1."""
    if not is_symbolic(size) and size >= _LIMIT:
        raise ValueError(
            f"random: given {size} blocks for one key, expected fewer than 2**32. Split the key."
        )
    return lax.iota(_U32, size)


def _encrypt(key: Words, size: Size) -> tuple[Any, Any]:
    """Encrypt the 64-bit counters 0 to size - 1."""
    low = count_up(size)
    return _block(key, lax.full((size,), 0, _U32), low)


def _encrypt_halves(key: Words, size: Size) -> Any:
    """Encrypt the 32-bit counters 0 to size - 1, the first half paired with the second."""
    half = (size + 1) // 2
    counters = count_up(size)
    odd = size % 2
    if odd:
        counters = lax.pad(counters, np.uint32(0), ((0, 2 * half - size, 0),))
    first, second = lax.slice(counters, (0,), (half,)), lax.slice(counters, (half,), (2 * half,))
    out = lax.concatenate(_block(key, first, second), 0)
    return lax.slice(out, (0,), (size,)) if odd else out


def split(key: Words, shape: Shape) -> Words:
    """Return new keys, words [*shape, 2]."""
    size = math.prod(shape)
    if threefry_partitionable.value:
        words = lax.concatenate([lax.expand_dims(w, (1,)) for w in _encrypt(key, size)], 1)
        return lax.reshape(words, (*shape, 2))
    return lax.reshape(_encrypt_halves(key, 2 * size), (*shape, 2))


def fold_in(key: Words, data: Any) -> Words:
    """Return the key for a number, words [2]."""
    words = _block(key, np.uint32(0), data)
    return lax.concatenate([lax.expand_dims(w, (0,)) for w in words], 0)


def bits(key: Words, width: int, shape: Shape) -> Any:
    """Return random unsigned integers of `width` bits."""
    if not threefry_partitionable.value:
        return _bits_of_halves(key, width, shape)
    first, second = _encrypt(key, math.prod(shape))
    dtype = np.dtype(f"uint{width}")
    if width == 64:
        high, low = (lax.convert_element_type(w, dtype) for w in (first, second))
        out = lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)
    else:
        out = lax.bitwise_xor(first, second)
        out = out if width == 32 else lax.convert_element_type(out, dtype)
    return lax.reshape(out, shape)


def _bits_of_halves(key: Words, width: int, shape: Shape) -> Any:
    size = math.prod(shape)
    dtype = np.dtype(f"uint{width}")
    words = _encrypt_halves(key, (width * size + 31) // 32)
    if width == 64:
        high, low = (
            lax.convert_element_type(lax.slice(words, (i * size,), ((i + 1) * size,)), dtype)
            for i in (0, 1)
        )
        out = lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)
    elif width == 32:
        out = words
    else:
        # Each word gives several numbers, its low bits first.
        parts = [
            lax.convert_element_type(lax.shift_right_logical(words, np.uint32(i)), dtype)
            for i in range(0, 32, width)
        ]
        out = lax.concatenate([lax.expand_dims(p, (1,)) for p in parts], 1)
        out = lax.slice(lax.reshape(out, (out.size,)), (0,), (size,))
    return lax.reshape(out, shape)
