"""Keys for the compiler's own generator; fast on accelerators, not equal on all of them."""

import math
from typing import Any

import numpy as np

import tans_lax as lax
from tans_random import threefry

type Words = Any
type Shape = tuple[int, ...]


def seed(words: Words) -> Words:
    """Return the key of a seed: two copies of the Threefry key."""
    return _doubled(threefry.seed(words))


def _doubled(words: Words) -> Words:
    return lax.concatenate([words, words], len(words.shape) - 1)


def _halves(key: Words) -> tuple[Words, Words]:
    return lax.slice(key, (0,), (2,)), lax.slice(key, (2,), (4,))


def split(key: Words, shape: Shape) -> Words:
    """Return new keys, words [*shape, 4]; each half is split by Threefry."""
    return lax.concatenate([threefry.split(h, shape) for h in _halves(key)], len(shape))


def fold_in(key: Words, data: Any) -> Words:
    """Return the key for a number, words [4]."""
    return lax.concatenate([threefry.fold_in(h, data) for h in _halves(key)], 0)


def split_unsafe(key: Words, shape: Shape) -> Words:
    """Return new keys drawn from the generator itself; of unknown quality."""
    size = math.prod(shape)
    _, words = lax.rng_bit_generator(key, (10 * size, 4), np.uint32)
    return lax.reshape(lax.slice(words, (0, 0), (10 * size, 4), (10, 1)), (*shape, 4))


def fold_in_unsafe(key: Words, data: Any) -> Words:
    """Return the key for a number, drawn from the generator itself."""
    _, words = lax.rng_bit_generator(seed(_two_words(data)), (10, 4), np.uint32)
    return lax.bitwise_xor(key, lax.index_in_dim(words, 9, 0, keepdims=False))


def _two_words(data: Any) -> Words:
    return lax.concatenate([lax.full((1,), 0, np.dtype(np.uint32)), lax.expand_dims(data, (0,))], 0)


def bits(key: Words, width: int, shape: Shape) -> Any:
    """Return random unsigned integers of `width` bits."""
    _, out = lax.rng_bit_generator(key, shape, np.dtype(f"uint{width}"))
    return out
