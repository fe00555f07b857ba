"""Reading: from an index to a slice, a dynamic slice or a gather."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax.gather_scatter import GatherDimensionNumbers, GatherScatterMode
from tans_lax.gather_scatter.dimension_numbers import default_fill_value
from tans_lax.slicing import Slice
from tans_numpy.indexing.entries import ONLY, Entry, Parsed, Span, empty_axis_error, parse
from tans_numpy.indexing.layout import (
    all_inside,
    in_program,
    index_vectors,
    is_array_entry,
    make_layout,
)
from tans_numpy.indexing.mapped import is_mapped_over_nothing
from tans_numpy.indexing.window import clamp, is_static, take_window

type Value = Any  # an array or a tracer
type Shape = tuple[int, ...]

FILL: Final = GatherScatterMode.FILL_OR_DROP
PROMISE: Final = GatherScatterMode.PROMISE_IN_BOUNDS


class Options(NamedTuple):
    """Keywords of indexing.

    Attributes:
      mode: what happens out of bounds.
      fill_value: scalar for the mode that fills.
      indices_are_sorted: promise of the caller.
      unique_indices: promise of the caller.
      wrap: whether negative indices count from the end.
    """

    mode: GatherScatterMode = PROMISE
    fill_value: Any = None
    indices_are_sorted: bool = False
    unique_indices: bool = False
    wrap: bool = True


DEFAULT: Final = Options()


def get(x: Value, index: Any, options: Options = DEFAULT) -> Value:
    """Index an array or tracer under the current trace."""
    return get_parsed(x, parse(index, x.shape), options)


def get_parsed(x: Value, parsed: Parsed, options: Options = DEFAULT) -> Value:
    """Index by a canonical index."""
    if parsed.new_dims:
        x = lax.expand_dims(x, parsed.new_dims)
    if parsed.from_mask:
        options = options._replace(indices_are_sorted=True, unique_indices=True)
    entries = parsed.entries
    shape = x.shape
    arrays = any(is_array_entry(e) and not _is_scalar(e) for e in entries)
    if has_empty_axis(entries, shape):
        return _from_empty(x, entries, options)
    fills = options.mode is FILL
    inside = all_inside(entries, shape, options.wrap) if fills else True
    if inside is None:
        entries = in_program(entries)
    elif not inside:
        return _filled(x, make_layout(shape, entries).full_shape, options)
    if arrays or any(type(e) is Slice and e.stride != 1 for e in entries):
        return _gather(x, entries, options)
    if fills and not is_static(entries):
        return _gather(x, entries, options._replace(indices_are_sorted=True, unique_indices=True))
    return take_window(x, entries, options.wrap)


def _is_scalar(entry: Entry) -> bool:
    return type(entry) is int or not typeof(entry).shape


def has_empty_axis(entries: Sequence[Entry], shape: Shape) -> bool:
    """Whether an index of one element or more is given for an axis without elements."""
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    return any(n == 0 and is_array_entry(e) for e, n in zip(covering, shape, strict=True))


def _from_empty(x: Value, entries: Sequence[Entry], options: Options) -> Value:
    """Index an axis of size 0: right for no indices, or for a mapped index (of no elements)."""
    check_empty_axes(entries, x.shape)
    return _filled(x, make_layout(x.shape, entries).full_shape, options)


def check_empty_axes(entries: Sequence[Entry], shape: Shape) -> None:
    """Raise where an element of an axis without elements is asked for.

    An index mapped over no elements stands for no index at all: `vmap` works as the loop does.
    """
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    for d, (entry, n) in enumerate(zip(covering, shape, strict=True)):
        if n or not is_array_entry(entry):
            continue
        if type(entry) is int or (typeof(entry).size and not is_mapped_over_nothing(entry)):
            raise empty_axis_error(shape, d)


def _filled(x: Value, shape: Shape, options: Options) -> Value:
    aval = typeof(x)
    fill = options.fill_value
    if fill is None:  # for keys in each of their words
        fill = default_fill_value(getattr(aval.dtype, "element_dtype", aval.dtype))
    return lax.full(shape, fill, aval.dtype)


def _gather(x: Value, entries: Sequence[Entry], options: Options) -> Value:
    x, entries = _slice_first(x, [_without_stride(e) for e in entries], options.wrap)
    layout = make_layout(x.shape, entries)
    numbers = GatherDimensionNumbers(
        offset_dims=layout.window_dims,
        collapsed_slice_dims=layout.collapsed,
        start_index_map=layout.mapped,
    )
    out = lax.gather(
        x,
        index_vectors(layout, x.shape, options.wrap),
        numbers,
        layout.sizes,
        unique_indices=options.unique_indices,
        indices_are_sorted=options.indices_are_sorted,
        mode=options.mode,
        fill_value=options.fill_value,
    )
    if layout.reversed_dims:
        out = lax.rev(out, layout.reversed_dims)
    return lax.expand_dims(out, layout.added) if layout.added else out


def _without_stride(entry: Entry) -> Entry:
    """Turn a strided window into an index vector: each of its elements is clamped alone."""
    if type(entry) is not Slice or entry.stride == 1:
        return entry
    steps = np.arange(entry.size, dtype=np.int32) * np.int32(entry.stride)
    return lax.add(lax.convert_element_type(entry.start, np.dtype(np.int32)), steps)


def _slice_first(x: Value, entries: Sequence[Entry], wrap: bool) -> tuple[Value, list[Entry]]:
    """Slice dimensions with static entries before the gather: one operation, and no columns."""
    taken, left = [], []
    covering = iter(x.shape)
    for entry in entries:
        if entry is None or entry is Ellipsis:
            left.append(entry)
            continue
        n = next(covering)
        if type(entry) is Span:
            taken.append(entry)
            left.append(Span(0, entry.size, 1))
        elif type(entry) is int:
            taken.append(Span(clamp(entry, n, wrap), 1, 1))
            left.append(ONLY)
        else:
            taken.append(Span(0, n, 1))
            left.append(entry)
    return take_window(x, taken, wrap), left
