"""Indices without arrays: a window of the array, then strides, reversal, and dimensions in and out.

A static window is one slice; with traced integers it is one dynamic slice.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax.slicing import Slice
from tans_numpy.indexing.entries import Entry, Span
from tans_xla.sizes import Size, is_symbolic, max_size, min_size

type Value = Any  # an array or a tracer
type Shape = tuple[int, ...]

_STATIC: Final = frozenset((int, Span, type(None), type(Ellipsis)))


class Window(NamedTuple):
    """What an index without arrays takes from an array.

    Attributes:
      lows: first index per dimension; None where it is dynamic.
      extents: distance covered per dimension.
      strides: positive step per dimension, or None if all are 1.
      reversed_dims: dimensions taken backwards.
      kept: shape of the result before dimensions are removed and added.
      removed: dimensions taken by integers.
      shape: shape of the result.
      added: dimensions of the result that are new.
    """

    lows: tuple[Size | None, ...]
    extents: Shape
    strides: Shape | None
    reversed_dims: Shape
    kept: Shape
    removed: Shape
    shape: Shape
    added: Shape

    def covers(self, shape: Shape) -> bool:
        """Whether the window is the whole array, perhaps in another order."""
        return self.extents == shape


def is_static(entries: Sequence[Entry]) -> bool:
    """Whether an index is known while tracing."""
    return all(type(e) in _STATIC and (type(e) is not Span or e.is_static) for e in entries)


def clamp(index: int, dim: Size, wrap: bool = True) -> Size:
    """Return a static index wrapped once, then moved into bounds."""
    place = index + dim if wrap and index < 0 else index
    return min_size(max_size(place, 0), dim - 1)


def is_inside(index: int, dim: Size, wrap: bool = True) -> bool:
    """Whether a static index is in bounds.

    Raises:
      InconclusiveDimensionOperation: it is for some values of a symbolic size, not for others.
    """
    return (-dim if wrap else 0) <= index < dim


@lru_cache(maxsize=4096)
def static_window(shape: Shape, entries: tuple[Entry, ...], wrap: bool = True) -> Window:
    """Return the window of a static index; integers are clamped."""
    return make_window(shape, entries, wrap)


def make_window(shape: Shape, entries: Sequence[Entry], wrap: bool = True) -> Window:
    """Return the window of an index of integers, integer scalars, slices and new dimensions."""
    lows: list[Size | None] = []
    extents, strides, kept = [], [], []
    reversed_dims, removed, added = [], [], []
    result: list[int] = []
    for entry in entries:
        d = len(lows)
        if entry is None:
            added.append(len(result))
            result.append(1)
            continue
        if entry is Ellipsis:
            continue
        if type(entry) is Span:
            low: Size | None = entry.low if entry.is_static else None
            size, extent, stride = entry.size, entry.extent, abs(entry.step)
            if entry.step < 0:
                reversed_dims.append(d)
            result.append(size)
        elif type(entry) is Slice:
            low, size, extent, stride = None, entry.size, entry.size, 1
            result.append(size)
        else:
            low = clamp(entry, shape[d], wrap) if type(entry) is int else None
            size = extent = stride = 1
            removed.append(d)
        lows.append(low)
        extents.append(extent)
        strides.append(stride)
        kept.append(size)
    return Window(
        tuple(lows),
        tuple(extents),
        tuple(strides) if any(s > 1 for s in strides) else None,
        tuple(reversed_dims),
        tuple(kept),
        tuple(removed),
        tuple(result),
        tuple(added),
    )


def starts_of(entries: Sequence[Entry], window: Window) -> list[Value]:
    """Return the first index per dimension, static or not."""
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    starts: list[Value] = []
    for entry, low in zip(covering, window.lows, strict=True):
        if low is not None:
            starts.append(low)
        elif type(entry) is Span:
            starts.append(entry.low)
        else:
            starts.append(entry.start if type(entry) is Slice else entry)
    found = {typeof(s).dtype for s in starts if not is_size(s)}
    if len(found) > 1:
        common = np.dtype(np.int64 if np.dtype(np.int64) in found else np.int32)
        starts = [s if is_size(s) else lax.convert_element_type(s, common) for s in starts]
    return starts


def is_size(x: Any) -> bool:
    """Whether a start is known while tracing: an int or a symbolic size."""
    return type(x) is int or is_symbolic(x)


def wraps_of(entries: Sequence[Entry], wrap: bool) -> list[bool]:
    """Say per dimension whether a negative dynamic start counts from the end."""
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    return [wrap and type(e) is not Span for e in covering]


def take_window(x: Value, entries: Sequence[Entry], wrap: bool = True) -> Value:
    """Index `x` by integers, integer scalars, slices and new dimensions."""
    static = is_static(entries)
    make = static_window if static else make_window
    window = make(x.shape, tuple(entries), wrap)
    return arrange(take_kept(x, entries, window, wrap), window)


def take_kept(
    x: Value, entries: Sequence[Entry], window: Window, wrap: bool, *, strided: bool = True
) -> Value:
    """Take a window without reversing, removing or adding dimensions.

    With `strided` false, elements that its strides leave out are taken too.
    """
    strides = window.strides if strided else None
    if None not in window.lows:
        if window.covers(x.shape) and strides is None:
            return x
        limits = [low + n for low, n in zip(window.lows, window.extents, strict=True)]  # pyright: ignore[reportOptionalOperand]
        return lax.slice(x, window.lows, limits, strides)  # pyright: ignore[reportArgumentType]
    starts, wraps = starts_of(entries, window), wraps_of(entries, wrap)
    x = lax.dynamic_slice(x, starts, window.extents, allow_negative_indices=wraps)
    if strides is None:
        return x
    return lax.slice(x, (0,) * len(strides), window.extents, strides)


def arrange(x: Value, window: Window) -> Value:
    """Reverse, remove and add dimensions: what is left to do after the window was taken."""
    if window.reversed_dims:
        x = lax.rev(x, window.reversed_dims)
    if window.removed and window.added:
        return lax.reshape(x, window.shape)
    if window.removed:
        return lax.squeeze(x, window.removed)
    if window.added:
        return lax.expand_dims(x, window.added)
    return x


def arrange_update(values: Value, window: Window) -> Value:
    """Undo `arrange` on values of the result's shape: give them the window's shape."""
    if typeof(values).shape != window.kept:
        values = lax.reshape(values, window.kept)
    return lax.rev(values, window.reversed_dims) if window.reversed_dims else values
