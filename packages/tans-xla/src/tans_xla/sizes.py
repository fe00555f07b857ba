"""Sizes of dimensions: ints, or symbolic sizes, which are known where a program is called.

A symbolic size is an object with the method ``size_emitter``: see `tans_compiler.symbolic`, which
makes them. Arithmetic on it gives sizes. A comparison that does not hold for all its values, or for
none, raises `InconclusiveDimensionOperation`.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from tans_core.errors import InconclusiveDimensionOperation

type Size = Any  # an int or a symbolic size

_TYPICAL: Final = 64


def is_symbolic(size: Any) -> TypeGuard[Any]:
    """Whether a value is a symbolic size."""
    return hasattr(size, "size_emitter")


def has_symbolic(shape: Sequence[Any]) -> bool:
    """Whether a size in a shape is symbolic."""
    return any(type(size) is not int and is_symbolic(size) for size in shape)


def as_size(x: Any) -> Size:
    """Return a size as a Python int; a symbolic size stays as it is.

    Raises:
      TypeError: `x` is not an integer.
    """
    return x if type(x) is int or is_symbolic(x) else operator.index(x)


def max_size(a: Size, b: Size) -> Size:
    """Return the larger one of two sizes."""
    if type(a) is int and type(b) is int:
        return max(a, b)
    if is_symbolic(a):
        return a.larger(b)
    return b.larger(a) if is_symbolic(b) else max(a, b)


def min_size(a: Size, b: Size) -> Size:
    """Return the smaller one of two sizes."""
    if type(a) is int and type(b) is int:
        return min(a, b)
    if is_symbolic(a):
        return a.smaller(b)
    return b.smaller(a) if is_symbolic(b) else min(a, b)


def typical_size(size: Size) -> int:
    """Return an int to plan with: what the size is, or a usual one for a symbolic size."""
    return _TYPICAL if is_symbolic(size) else size


def is_always_at_least(a: Size, b: Size) -> bool:
    """Whether one size is at least another for all values of symbolic sizes."""
    try:
        return bool(a >= b)
    except InconclusiveDimensionOperation:
        return False
