"""Threefry-4x32 with 20 rounds: additions and rotations mix the counter.

References:
  Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

import tans_lax as lax
from tans_random.counters import CounterGenerator, Word, Words, stacked, xor_of

_ROUNDS: Final = 20
_PARITY: Final = np.uint32(0x1BD11BDA)  # of the key schedule, from the definition of Threefish
# Rotations of both pairs of words in each of eight rounds, from the paper.
_ROTATIONS: Final = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _rotate(x: Word, by: int) -> Word:
    left = lax.shift_left(x, np.uint32(by))
    return lax.bitwise_or(left, lax.shift_right_logical(x, np.uint32(32 - by)))


def _mix(x: Word, y: Word, by: int) -> tuple[Word, Word]:
    x = lax.add(x, y)
    return x, lax.bitwise_xor(_rotate(y, by), x)


def _block(key: Sequence[Word], counter: Sequence[Word]) -> Sequence[Word]:
    keys = [*key, lax.bitwise_xor(xor_of(key), _PARITY)]
    x = [lax.add(c, k) for c, k in zip(counter, keys[:4], strict=True)]
    for i in range(_ROUNDS):
        first, second = _ROTATIONS[i % 8]
        # The second words of the pairs are exchanged after every round.
        partners = (1, 3) if i % 2 == 0 else (3, 1)
        x[0], x[partners[0]] = _mix(x[0], x[partners[0]], first)
        x[2], x[partners[1]] = _mix(x[2], x[partners[1]], second)
        if i % 4 == 3:
            group = (i + 1) // 4
            x = [lax.add(w, keys[(group + j) % 5]) for j, w in enumerate(x)]
            x[3] = lax.add(x[3], np.uint32(group))
    return x


def _seed(words: Words) -> Words:
    zero = np.uint32(0)
    return stacked(_block([*lax.unstack(words), zero, zero], [lax.full((), 0, np.uint32)] * 4))


def _low_word(words: Sequence[Word]) -> Word:
    return lax.bitwise_xor(words[1], words[3])


def _high_word(words: Sequence[Word]) -> Word:
    return lax.bitwise_xor(words[0], words[2])


THREEFRY_4X32: Final = CounterGenerator(_block, 4, 4, _seed, _low_word, _high_word)
