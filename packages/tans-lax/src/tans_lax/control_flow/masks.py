"""Lists of operands by group, and masks that spread along a carry."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core.context import Mask


def split_at(values: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Cut a sequence into pieces of the given sizes and a rest."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(values[start : start + size]))
        start += size
    return [*pieces, list(values[start:])]


def grow_carry(carry: Sequence[bool], step: Callable[[Mask], Sequence[bool]]) -> Mask:
    """Find the least mask of carries that contains `carry` and is closed under one step.

    `step` gives the carries that are marked after a step in which those of its argument are.
    """
    mask = tuple(carry)
    while True:
        grown = tuple(a or b for a, b in zip(mask, step(mask), strict=True))
        if grown == mask:
            return mask
        mask = grown
