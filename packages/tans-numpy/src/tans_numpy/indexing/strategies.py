"""Conditions on an index that is read in a certain way, and windows that are known."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import typeof
from tans_lax.gather_scatter import GatherScatterMode
from tans_lax.slicing import Slice
from tans_numpy.indexing.entries import Entry, Span
from tans_numpy.indexing.layout import is_array_entry
from tans_numpy.indexing.window import is_inside

STRATEGIES: Final = ("auto", "gather", "static_slice", "dynamic_slice")
_PLAIN: Final = frozenset((int, slice, type(None), type(Ellipsis)))
_SLICING: Final = (GatherScatterMode.PROMISE_IN_BOUNDS, GatherScatterMode.CLIP)


def with_known_windows(index: Any) -> Any:
    """Turn windows into slices, which end where the array does, if the whole index is known."""
    items = index if type(index) is tuple else (index,)
    if Slice not in map(type, items) or not all(map(_is_known, items)):
        return index
    return tuple(
        slice(i.start, i.start + i.size * i.stride, i.stride) if type(i) is Slice else i
        for i in items
    )


def _is_known(item: Any) -> bool:
    if type(item) is Slice:
        return type(item.start) is int and type(item.size) is int
    return type(item) in _PLAIN


def check_strategy(
    strategy: str, entries: Sequence[Entry], shape: Sequence[int], mode: Any, wrap: bool
) -> None:
    """Raise if an index can't be read as `strategy` says.

    Args:
      strategy: "static_slice" or "dynamic_slice".
      entries: the canonical index.
      shape: that of the array.
      mode: what happens out of bounds.
      wrap: whether negative indices count from the end.

    Raises:
      IndexError: a static slice out of bounds.
      TypeError: an array for a slice, what is not known while tracing for a static one, or a step
        for a dynamic one.
      ValueError: a mode that fills or drops, for a slice.
    """
    if mode not in _SLICING:
        raise ValueError(
            f"get: given strategy={strategy!r} and mode={mode.name.lower()!r}, expected "
            "'promise_in_bounds' or 'clip': slices do not fill. Use strategy='gather'."
        )
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    for axis, (entry, n) in enumerate(zip(covering, shape, strict=True)):
        _check_entry(strategy, entry, axis, n, wrap)


def _check_entry(strategy: str, entry: Entry, axis: int, n: int, wrap: bool) -> None:
    if is_array_entry(entry) and type(entry) is not int and typeof(entry).shape:
        raise TypeError(
            f"get: given strategy={strategy!r} and an index of type {typeof(entry).str_short()} "
            f"for axis {axis}, expected scalars and slices. Use strategy='gather'."
        )
    if strategy == "dynamic_slice":
        step = entry.step if type(entry) is Span else getattr(entry, "stride", 1)
        if step != 1:
            raise TypeError(
                f"get: given strategy='dynamic_slice' and step {step} for axis {axis}, expected "
                "1. Use strategy='static_slice', or 'gather'."
            )
    elif type(entry) is not Span and type(entry) is not int:
        raise TypeError(
            f"get: given strategy='static_slice' and an index for axis {axis} that is an array, "
            "expected ints and slices. Use strategy='dynamic_slice'."
        )
    elif type(entry) is int and not is_inside(entry, n, wrap):
        raise IndexError(
            f"get: given strategy='static_slice' and index {entry} for axis {axis} of size {n}, "
            "expected one in bounds. Use strategy='auto', which clamps it."
        )
