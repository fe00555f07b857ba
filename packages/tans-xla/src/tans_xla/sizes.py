"""Sizes of dimensions: ints, or symbolic sizes, which are known where a program is called.

A symbolic size is an object with the method ``size_emitter``: see `tans_compiler.symbolic`, which
makes them. Arithmetic on it gives sizes. A comparison that does not hold for all its values, or for
none, raises `InconclusiveDimensionOperation`.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from tans_core.errors import InconclusiveDimensionOperation
from tans_core.trace import Tracer

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
    return x if type(x) is int or is_symbolic(x) else as_int(x)


def as_int(x: Any) -> int:
    """Return an integer as a Python int.

    Raises:
      TypeError: `x` is not an integer; ConcretizationTypeError where it is traced.
    """
    if type(x) is int:
        return x
    if not hasattr(x, "__index__"):
        raise TypeError(
            f"given {shown(x)} of type {type(x).__name__}, expected an integer. Convert it with "
            "int(x), and pass tuples only where several integers are asked for."
        )
    try:
        return operator.index(x)
    except TypeError as error:
        if isinstance(x, Tracer):
            raise
        raise TypeError(
            f"given {shown(x)} of type {type(x).__name__}, expected an integer ({error}). Convert "
            "it with int(x)."
        ) from None


def as_sizes(values: Any) -> tuple[Size, ...]:
    """Return a shape, or other sizes, as a tuple; symbolic sizes stay as they are.

    Raises:
      TypeError: `values` is not a sequence of integers.
    """
    return tuple(map(as_size, _several(values)))


def as_size_groups(values: Any, count: int) -> tuple[Any, ...]:
    """Return pairs or triples of sizes, such as paddings, as tuples.

    Raises:
      TypeError: `values` is not a sequence of sequences of integers.
      ValueError: one has another length than `count`.
    """
    groups = tuple(as_sizes(group) for group in _several(values))
    wrong = next((g for g in groups if len(g) != count), None)
    if wrong is not None:
        raise ValueError(
            f"given {wrong} among the paddings {groups}, expected {count} integers for each "
            "dimension. Write (0, 0) or (0, 0, 0) where nothing is added."
        )
    return groups


def as_ints(values: Any) -> tuple[int, ...]:
    """Return several integers, such as axes, as a tuple.

    Raises:
      TypeError: `values` is not a sequence of integers.
    """
    return tuple(map(as_int, _several(values)))


def _several(values: Any) -> Any:
    single = isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0
    if hasattr(values, "__iter__") and not single:
        return values
    raise TypeError(
        f"given {shown(values)} of type {type(values).__name__}, expected a sequence of integers. "
        "For a single one write (x,)."
    )


def shown(x: Any) -> str:
    """Return the text of a value for a message, cut where it is long."""
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


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
