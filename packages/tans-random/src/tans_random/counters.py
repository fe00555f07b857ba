"""Generators of keys and bits from a block function that encrypts counters.

A block function maps key words and counter words to as many words as the counter has. Numbers are
encrypted counters; new keys are too, in another place of the counter than numbers have.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
from tans_random.threefry import count_up

type Word = Any  # uint32 scalar or array
type Words = Any  # uint32 [..., words]
type Shape = tuple[int, ...]
type Block = Callable[[Sequence[Word], Sequence[Word]], Sequence[Word]]

_ZERO = np.uint32(0)


class CounterGenerator(NamedTuple):
    """A generator made of a block function.

    Attributes:
      block: (key words, counter words) to words.
      key_words: number of words of a key.
      counter_words: number of words of a counter.
      seed: (seed words uint32 [2]) to key words.
      low_word, high_word: from the words of a block to the halves of a 64-bit number.
    """

    block: Block
    key_words: int
    counter_words: int
    seed: Callable[[Words], Words]
    low_word: Callable[[Sequence[Word]], Word]
    high_word: Callable[[Sequence[Word]], Word]

    def split(self, key: Words, shape: Shape) -> Words:
        """Return new keys, words [*shape, key_words]."""
        low = count_up(math.prod(shape))
        words = self._encrypt(key, [_ZERO] * (self.counter_words - 1), low)[: self.key_words]
        columns = lax.concatenate([lax.expand_dims(w, (1,)) for w in words], 1)
        return lax.reshape(columns, (*shape, self.key_words))

    def fold_in(self, key: Words, data: Word) -> Words:
        """Return the key for a number, words [key_words]."""
        words = self._encrypt(key, [_ZERO] * (self.counter_words - 1), data)[: self.key_words]
        return lax.concatenate([lax.expand_dims(w, (0,)) for w in words], 0)

    def bits(self, key: Words, width: int, shape: Shape) -> Any:
        """Return random unsigned integers of `width` bits."""
        low = count_up(math.prod(shape))
        rest = [_ZERO] * (self.counter_words - 2)
        words = self._encrypt(key, [_ZERO], low, rest)
        dtype = np.dtype(f"uint{width}")
        if width == 64:
            low, high = (
                lax.convert_element_type(w, dtype)
                for w in (self.low_word(words), self.high_word(words))
            )
            out = lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)
        else:
            out = xor_of(words)
            out = out if width == 32 else lax.convert_element_type(out, dtype)
        return lax.reshape(out, shape)

    def _encrypt(
        self, key: Words, before: Sequence[Word], counter: Word, after: Sequence[Word] = ()
    ) -> Sequence[Word]:
        counters = [
            w if w is counter else lax.full_like(counter, w) for w in (*before, counter, *after)
        ]
        return self.block(lax.unstack(key), counters)


def xor_of(words: Sequence[Word]) -> Word:
    """Return the exclusive or of all words."""
    out = words[0]
    for word in words[1:]:
        out = lax.bitwise_xor(out, word)
    return out


def stacked(words: Sequence[Word]) -> Words:
    """Return scalar words as one array."""
    return lax.concatenate([lax.reshape(w, (1,)) for w in words], 0)
