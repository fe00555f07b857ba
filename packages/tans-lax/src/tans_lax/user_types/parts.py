"""What happens to an array that a value of a user type is made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core.values import typeof
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select_n
from tans_lax.shape import broadcast_in_dim, transpose

type Value = Any


def selected(index: Value, choices: Sequence[Value], axes: Sequence[int]) -> Value:
    """Return for each lane one of several arrays.

    Args:
      index: which; integers, or booleans for two arrays.
      choices: arrays of one type.
      axes: where the index's dimensions are in them.
    """
    aval: Any = typeof(choices[0])
    if len(choices) == 2 and typeof(index).dtype != bool:
        index = eq(index, np.int32(1))
    moves = [axes.index(d) if d in axes else -1 for d in range(aval.ndim)]
    index = moved(index, moves, aval.shape)
    return select_n(index, *choices)


def moved(x: Value, moves: Sequence[int], shape: Sequence[int]) -> Value:
    """Return an array with its dimensions in another order, and repeated along new ones.

    Args:
      x: the array.
      moves: per dimension of the result that of `x`, or -1 for a new one.
      shape: shape of the result.
    """
    kept = [m for m in moves if m >= 0]
    if kept != sorted(kept):
        x = transpose(x, tuple(kept))
    if len(kept) < len(moves):
        x = broadcast_in_dim(x, tuple(shape), tuple(i for i, m in enumerate(moves) if m >= 0))
    return x
