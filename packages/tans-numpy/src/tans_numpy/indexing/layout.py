"""Indices with arrays: how index vectors and windows lie in the operand and in the result.

NumPy puts the broadcast dimensions of the index arrays where the arrays stand if these stand side
by side, else first. A gather or scatter does both: `offset_dims` say where the windows' dimensions
lie, and the index vectors' own dimensions take the other places.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.config import enable_x64
from tans_core.errors import InconclusiveDimensionOperation
from tans_lax.sizes import size_value
from tans_lax.slicing import Slice
from tans_lax.slicing.start_indices import fits_dtype, wide_dtype, wrap_negative
from tans_numpy.indexing.entries import ONLY, Entry, Span
from tans_numpy.indexing.window import is_inside, is_size
from tans_xla.sizes import Size, has_symbolic, is_symbolic

type Value = Any  # an array or a tracer
type Shape = tuple[int, ...]


class Layout(NamedTuple):
    """Where things lie; dimensions of the result are counted without new ones.

    Attributes:
      batch_shape: shape of the index vectors' own dimensions, in the order of the result.
      window_dims: dimensions of the result that run over the window.
      collapsed: operand dimensions of which each window has one element.
      sizes: the window's size per dimension of the operand.
      columns: component of the index vectors per operand dimension that has one, and the
        dimensions of `batch_shape` that it runs over.
      shape: shape of the result.
      added: dimensions of the final result, with new ones, that are new.
      reversed_dims: dimensions of the result that are taken backwards.
    """

    batch_shape: Shape
    window_dims: Shape
    collapsed: Shape
    sizes: Shape
    columns: tuple[tuple[int, Value, Shape], ...]
    shape: Shape
    added: Shape
    reversed_dims: Shape

    @property
    def mapped(self) -> Shape:
        """Operand dimension of each component of the index vectors."""
        return tuple(d for d, _, _ in self.columns)

    @property
    def full_shape(self) -> Shape:
        """Shape of the final result, with new dimensions."""
        full = list(self.shape)
        for d in self.added:
            full.insert(d, 1)
        return tuple(full)


def is_array_entry(entry: Entry) -> bool:
    """Whether an entry is an index array or integer scalar, static or not."""
    return not (entry is None or entry is Ellipsis or type(entry) in (Span, Slice))


def make_layout(shape: Shape, entries: Sequence[Entry]) -> Layout:
    """Lay out an index; slices with a step become index vectors of their own dimension."""
    advanced = [k for k, e in enumerate(entries) if is_array_entry(e)]
    common = lax.broadcast_shapes(*[_shape_of(entries[k]) for k in advanced])
    side_by_side = bool(advanced) and advanced[-1] - advanced[0] + 1 == len(advanced)
    place = advanced[0] if side_by_side else 0
    builder = _LayoutBuilder(shape)
    for k, entry in enumerate(entries):
        if advanced and k == place:
            builder.add_common(common)
        builder.add(entry)
    return builder.layout()


class _LayoutBuilder:
    """Collects a layout entry by entry; the length of a list is the next dimension of its kind."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.sizes: list[int] = []  # one per dimension of the operand
        self.batch_shape: list[int] = []
        self.result: list[int] = []
        self.added: list[int] = []
        self.window_dims: list[int] = []
        self.collapsed: list[int] = []
        self.reversed_dims: list[int] = []
        self.columns: list[tuple[int, Value, Shape | None]] = []
        self.common_dims: Shape = ()

    def add_common(self, common: Shape) -> None:
        """Place the dimensions that the index arrays share."""
        first = len(self.batch_shape)
        self.common_dims = tuple(range(first, first + len(common)))
        self.batch_shape += common
        self.result += common

    def add(self, entry: Entry) -> None:
        """Place an entry."""
        d = len(self.sizes)
        if entry is None:
            self.added.append(len(self.result) + len(self.added))
        elif type(entry) is Span:
            self._add_span(d, entry)
        elif type(entry) is Slice:
            self.columns.append((d, entry.start, ()))
            self._add_window(entry.size)
        elif entry is not Ellipsis:
            if entry is not ONLY:
                self.columns.append((d, entry, None))
            self.collapsed.append(d)
            self.sizes.append(1)

    def _add_span(self, d: int, span: Span) -> None:
        if abs(span.step) != 1:
            self.columns.append((d, _positions(span), (len(self.batch_shape),)))
            self.collapsed.append(d)
            self.sizes.append(1)
            self.batch_shape.append(span.size)
            self.result.append(span.size)
            return
        if span.size != self.shape[d]:
            self.columns.append((d, span.low, ()))
        if span.step < 0:
            self.reversed_dims.append(len(self.result))
        self._add_window(span.size)

    def _add_window(self, size: int) -> None:
        self.window_dims.append(len(self.result))
        self.sizes.append(size)
        self.result.append(size)

    def _dims_of(self, entry: Entry) -> Shape:
        """Return the shared dimensions that an index array runs over: the last ones."""
        return self.common_dims[len(self.common_dims) - len(_shape_of(entry)) :]

    def layout(self) -> Layout:
        """Return the layout."""
        columns = [
            (d, e, self._dims_of(e) if dims is None else dims) for d, e, dims in self.columns
        ]
        return Layout(
            tuple(self.batch_shape),
            tuple(self.window_dims),
            tuple(self.collapsed),
            tuple(self.sizes),
            tuple(columns),
            tuple(self.result),
            tuple(self.added),
            tuple(self.reversed_dims),
        )


def _shape_of(entry: Entry) -> Shape:
    return () if type(entry) is int or entry is ONLY else typeof(entry).shape


def _positions(span: Span) -> Value:
    dtype = np.dtype(np.int32)
    if has_symbolic((span.size, span.low)):
        steps = lax.mul(lax.iota(dtype, span.size), dtype.type(abs(span.step)))
        steps = steps if span.step > 0 else lax.rev(steps, (0,))
        return lax.add(steps, size_value(span.low, dtype))
    steps = np.arange(span.size, dtype=dtype) * dtype.type(abs(span.step))
    steps = steps if span.step > 0 else steps[::-1]
    return steps + span.low if type(span.low) is int else lax.add(steps, span.low)


def index_vectors(layout: Layout, shape: Shape, wrap: bool) -> Value:
    """Return the index vectors: integers of shape ``[*batch_shape, number of columns]``."""
    dtype = _common_dtype([c for _, c, _ in layout.columns], [shape[d] for d in layout.mapped])
    parts = []
    vectors = (*layout.batch_shape, 1)
    for d, entry, dims in layout.columns:
        column = _as_dtype(entry, shape[d], dtype, wrap)
        column_shape = typeof(column).shape
        if isinstance(column, np.generic):
            parts.append(lax.broadcast_in_dim(column, vectors, ()))
        elif isinstance(column, np.ndarray) and not has_symbolic(vectors):
            placed = [1] * len(vectors)
            for dim, n in zip(dims, column_shape, strict=True):
                placed[dim] = n
            parts.append(np.broadcast_to(np.reshape(column, placed), vectors))
        else:
            parts.append(_spread(column, column_shape, vectors, dims))
    if not parts and has_symbolic(vectors):
        return lax.full((*layout.batch_shape, 0), 0, dtype)
    if all(isinstance(p, np.ndarray) for p in parts):
        none = np.zeros((*layout.batch_shape, 0), dtype)
        return np.ascontiguousarray(np.concatenate([none, *parts], -1))
    if len(parts) == 1:
        return parts[0]
    return lax.concatenate(parts, len(layout.batch_shape))


def _spread(column: Value, column_shape: Shape, vectors: Shape, dims: Shape) -> Value:
    """Broadcast a column to the vectors' shape; size-1 dimensions are dropped on the way."""
    kept = [k for k, (n, d) in enumerate(zip(column_shape, dims, strict=True)) if n == vectors[d]]
    if len(kept) != len(column_shape):
        column = lax.reshape(column, [column_shape[k] for k in kept])
    return lax.broadcast_in_dim(column, vectors, [dims[k] for k in kept])


def _common_dtype(columns: Sequence[Value], dims: Sequence[int]) -> np.dtype:
    """Return the dtype of the index vectors: that of the arrays if all share one wide enough."""
    found = {typeof(c).dtype for c in columns if not is_size(c)}
    if len(found) == 1:
        (dtype,) = found
        # An int8 index of a long axis would wrap in int8; NumPy widens, so do we.
        if all(fits_dtype(n, dtype) for n in dims):
            return dtype
    wide = np.dtype(np.int64) if np.dtype(np.int64) in found else wide_dtype(dims)
    return wide if enable_x64.value else np.dtype(np.int32)


def _as_dtype(column: Value, dim: Size, dtype: np.dtype, wrap: bool) -> Value:
    """Convert a column and wrap negative indices; static ones are computed now."""
    if type(column) is int and wrap and column < 0:
        column = column + dim
    if is_symbolic(column):
        return size_value(column, dtype)
    if type(column) is int:
        largest = int(np.iinfo(dtype).max)
        return dtype.type(max(min(column, largest), -largest - 1 if dtype.kind == "i" else 0))
    if isinstance(column, np.ndarray):
        wrap = wrap and bool((column < 0).any())
        if not wrap or type(dim) is int:
            column = np.where(column < 0, column + dim, column) if wrap else column
            return column.astype(dtype)
    source = typeof(column).dtype
    if source != dtype:
        column = lax.convert_element_type(column, dtype)
    return wrap_negative(column, dim, dtype) if wrap and source.kind == "i" else column


def all_inside(entries: Sequence[Entry], shape: Shape, wrap: bool) -> bool | None:
    """Whether all static integers of an index are in bounds; None if symbolic sizes decide it."""
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    pairs = zip(covering, shape, strict=True)
    try:
        return all(is_inside(e, n, wrap) for e, n in pairs if type(e) is int)
    except InconclusiveDimensionOperation:
        return None


def in_program(entries: Sequence[Entry]) -> list[Entry]:
    """Return an index with its integers as arrays: the program tells whether they are inside."""
    return [np.asarray(e, np.int32) if type(e) is int else e for e in entries]
