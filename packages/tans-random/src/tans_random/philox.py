"""Philox-2x32 and Philox-4x32 with 10 rounds: multiplications mix the counter.

References:
  Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_random.counters import CounterGenerator, Word, Words, stacked

_ROUNDS: Final = 10
# From the paper: multipliers, and Weyl constants (golden ratio, sqrt(3) - 1) that advance the key.
_MULTIPLIER_2X32: Final = np.uint32(0xD256D193)
_MULTIPLIERS_4X32: Final = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_WEYL: Final = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))


def _product(x: Word, by: np.uint32) -> tuple[Word, Word]:
    """Return the high and the low word of a product."""
    return lax.mulhi(x, lax.full_like(x, by)), lax.mul(x, by)


def _block_2x32(key: Sequence[Word], counter: Sequence[Word]) -> Sequence[Word]:
    (k,), (x, y) = key, counter
    for _ in range(_ROUNDS):
        high, low = _product(x, _MULTIPLIER_2X32)
        x, y = lax.bitwise_xor(lax.bitwise_xor(high, k), y), low
        k = lax.add(k, _WEYL[0])
    return x, y


def _block_4x32(key: Sequence[Word], counter: Sequence[Word]) -> Sequence[Word]:
    (k0, k1), (x, y, z, w) = key, counter
    for _ in range(_ROUNDS):
        high_x, low_x = _product(x, _MULTIPLIERS_4X32[0])
        high_z, low_z = _product(z, _MULTIPLIERS_4X32[1])
        x = lax.bitwise_xor(lax.bitwise_xor(high_z, y), k0)
        z = lax.bitwise_xor(lax.bitwise_xor(high_x, w), k1)
        y, w = low_z, low_x
        k0, k1 = lax.add(k0, _WEYL[0]), lax.add(k1, _WEYL[1])
    return x, y, z, w


def _seed_2x32(words: Words) -> Words:
    high, low = lax.unstack(words)
    return stacked(_block_2x32([np.uint32(0)], [high, low])[:1])


def _seed_4x32(words: Words) -> Words:
    high, low = lax.unstack(words)
    zero = lax.full_like(low, 0)
    return stacked(_block_4x32([np.uint32(0)] * 2, [high, low, zero, zero])[:2])


def _second(words: Sequence[Any]) -> Any:
    return words[1]


def _first(words: Sequence[Any]) -> Any:
    return words[0]


PHILOX_2X32: Final = CounterGenerator(_block_2x32, 1, 2, _seed_2x32, _second, _first)
PHILOX_4X32: Final = CounterGenerator(_block_4x32, 2, 4, _seed_4x32, _second, _first)
