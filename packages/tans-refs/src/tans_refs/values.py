"""Parts of arrays: how to read, overwrite and add to what a chain of transforms selects."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core.hi_types import is_hi_type
from tans_core.refs import Bitcast, Index, Pick, Reshape, Span, Transform, Transforms, Transpose
from tans_core.values import typeof
from tans_refs.parts import part_type, pick_position, split_leaves

type Value = Any
type Leaves = Sequence[Any]
type Step = tuple[Transform, Leaves]


def read_part(x: Value, transforms: Transforms, leaves: Leaves) -> Value:
    """Return what the transforms select of an array."""
    for t, own in zip(transforms, split_leaves(transforms, leaves), strict=True):
        x = _read(x, t, own)
    return x


def write_part(x: Value, transforms: Transforms, leaves: Leaves, new: Value) -> Value:
    """Return the array with its selected part replaced; indices out of range are dropped."""
    if not transforms:
        return new
    steps = list(zip(transforms, split_leaves(transforms, leaves), strict=True))
    if _selects_copies(steps):
        return _put_positions(x, steps, new, lax.scatter)
    parents = _parents(x, steps)
    for (t, own), parent in zip(reversed(steps), reversed(parents), strict=True):
        new = _write(parent, t, own, new)
    return new


def add_to_part(x: Value, transforms: Transforms, leaves: Leaves, addend: Value) -> Value:
    """Return the array with an addend added to the selected part; repeated indices add up.

    Elements outside of the part keep their bits.
    """
    if not transforms:
        aval: Any = typeof(x)
        return aval.vspace_add(x, addend) if is_hi_type(aval) else lax.add(x, addend)
    if any(isinstance(t, Bitcast) for t in transforms):
        part = lax.add(read_part(x, transforms, leaves), addend)
        return write_part(x, transforms, leaves, part)
    steps = list(zip(transforms, split_leaves(transforms, leaves), strict=True))
    if _selects_copies(steps):
        return _put_positions(x, steps, addend, lax.scatter_add)
    is_last = True
    for (t, own), parent in zip(reversed(steps), reversed(_parents(x, steps)), strict=True):
        if is_last and isinstance(t, Index):
            addend = _put_index(parent, t, own, addend, lax.scatter_add, lax.add)
            is_last = False
        else:
            addend = _write(parent, t, own, addend)
    return lax.add(x, addend) if is_last else addend


def _parents(x: Value, steps: Sequence[Step]) -> list[Value]:
    """Return what each step selects from."""
    parents = [x]
    for t, own in steps[:-1]:
        parents.append(_read(parents[-1], t, own))
    return parents


def _selects_copies(steps: Sequence[Step]) -> bool:
    """Whether steps select a part of something that may hold an element of the ref twice.

    Such a part can't be written by writing what it is a part of: the other copy would be written
    back, too.
    """
    repeats = [isinstance(t, Index) and any(typeof(i).shape for i in own) for t, own in steps]
    if True not in repeats:
        return False
    return any(isinstance(t, Index) for t, _ in steps[repeats.index(True) + 1 :])


def _put_positions(
    x: Value, steps: Sequence[Step], new: Value, scatter: Callable[..., Value]
) -> Value:
    """Put the elements of a part where they are in the flat array."""
    aval: Any = typeof(x)
    size = aval.size
    positions = lax.reshape(lax.iota(np.int32, size), aval.shape)
    for t, own in steps:
        if not isinstance(t, Bitcast):
            positions = _read(positions, t, own, outside=size)
    if typeof(new).dtype != aval.dtype:
        new = lax.bitcast_convert_type(new, aval.dtype)
    count = typeof(new).size
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    flat = scatter(
        lax.reshape(x, (size,)), lax.reshape(positions, (count, 1)), lax.reshape(new, (count,)),
        numbers, mode="drop",
    )  # fmt: skip
    return lax.reshape(flat, aval.shape)


# ---- one transform ------------------------------------------------------------------------------


def _read(x: Value, t: Transform, leaves: Leaves, outside: int | None = None) -> Value:
    if isinstance(t, Index):
        return _read_index(x, t, leaves, outside)
    if isinstance(t, Reshape):
        return lax.reshape(x, t.shape)
    if isinstance(t, Transpose):
        return lax.transpose(x, t.permutation)
    assert isinstance(t, Bitcast)
    return lax.bitcast_convert_type(x, t.dtype)


def _write(x: Value, t: Transform, leaves: Leaves, new: Value) -> Value:
    if isinstance(t, Index):
        return _put_index(x, t, leaves, new, lax.scatter, lambda old, new: new)
    return _undo(x, t, new)


def _undo(x: Value, t: Transform, new: Value) -> Value:
    if isinstance(t, Reshape):
        return lax.reshape(new, typeof(x).shape)
    if isinstance(t, Transpose):
        return lax.transpose(new, tuple(int(d) for d in np.argsort(t.permutation)))
    assert isinstance(t, Bitcast)
    return lax.bitcast_convert_type(new, typeof(x).dtype)


# ---- indices ------------------------------------------------------------------------------------


class _Box(NamedTuple):
    """A part with unit steps and one element or a range of each dimension.

    Attributes:
      starts: first index of each dimension.
      sizes: number of elements of each.
      shape: that of the part without the dimensions that were picked from.
    """

    starts: list[Any]
    sizes: list[int]
    shape: tuple[int, ...]

    @property
    def is_static(self) -> bool:
        return all(isinstance(s, int) for s in self.starts)


def _box(x: Value, index: Index, leaves: Leaves) -> _Box | None:
    """Return the box that an index selects, or None when it selects something else."""
    found = iter(leaves)
    starts: list[Any] = []
    sizes: list[int] = []
    for e in index.entries:
        start = next(found) if e[0] is None else e[0]
        if isinstance(e, Span) and e.stride != 1 and e.size > 1:
            return None
        if isinstance(e, Pick) and e.index is None and typeof(start).shape:
            return None
        starts.append(start)
        sizes.append(e.size if isinstance(e, Span) else 1)
    return _Box(starts, sizes, tuple(e.size for e in index.entries if isinstance(e, Span)))


def wrapped(index: Value, size: int) -> Value:
    """Return the index in int32 or int64 with negative values counted from the end."""
    dtype = typeof(index).dtype
    signed = np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    if dtype.kind == "u":
        # What the signed type does not hold is out of range: it becomes `size`, which is so too.
        if dtype.itemsize >= 4:
            index = lax.min(index, lax.full_like(index, size))
        return lax.convert_element_type(index, signed)
    if dtype != signed:
        index = lax.convert_element_type(index, signed)
    zero = lax.full_like(index, 0)
    return lax.select(lax.lt(index, zero), lax.add(index, lax.full_like(index, size)), index)


def _read_index(x: Value, index: Index, leaves: Leaves, outside: int | None) -> Value:
    """Read a part; array indices out of range give the nearest element, or the value `outside`."""
    shape = typeof(x).shape
    if not leaves and not _has_arrays(index):
        spans = [e if isinstance(e, Span) else Span(e.index, 1) for e in index.entries]
        starts = [s.start or 0 for s in spans]
        limits = [
            a + (s.size - 1) * s.stride + 1 if s.size else a
            for a, s in zip(starts, spans, strict=True)
        ]
        if starts != [0] * len(shape) or limits != list(shape) or any(s.stride > 1 for s in spans):
            x = lax.slice(x, starts, limits, [s.stride for s in spans])
        return _squeezed(x, index)
    box = _box(x, index, leaves)
    if box is not None:
        return _squeezed(lax.dynamic_slice(x, box.starts, box.sizes), index)
    part = part_type(typeof(x), (index,), [typeof(i) for i in leaves])
    if not part.size:  # whatever the indices: a dimension that they index may be empty
        nothing = lax.slice(lax.reshape(x, (typeof(x).size,)), [0], [0])
        return lax.reshape(nothing, part.shape)
    points = _points(x, index, leaves)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(points.grid_ndim, points.grid_ndim + len(points.windows))),
        collapsed_slice_dims=points.dims,
        start_index_map=points.dims,
    )
    sizes = tuple(1 if d in points.dims else n for d, n in enumerate(shape))
    mode = {"mode": "clip"} if outside is None else {"mode": "fill", "fill_value": outside}
    got = lax.gather(x, points.indices, numbers, sizes, **mode)
    return lax.transpose(got, points.order)


def _has_arrays(index: Index) -> bool:
    return any(e[0] is None for e in index.entries)


def _squeezed(x: Value, index: Index) -> Value:
    picked = tuple(d for d, e in enumerate(index.entries) if isinstance(e, Pick))
    return lax.squeeze(x, picked) if picked else x


def _put_index(
    x: Value,
    index: Index,
    leaves: Leaves,
    new: Value,
    scatter: Callable[..., Value],
    combine: Callable[[Value, Value], Value],
) -> Value:
    box = _box(x, index, leaves)
    if box is not None:
        if box.is_static and box.sizes == list(typeof(x).shape) and not any(box.starts):
            return combine(x, lax.reshape(new, typeof(x).shape))
        if combine is lax.add:
            old = lax.dynamic_slice(x, box.starts, box.sizes)
            new = lax.add(old, lax.reshape(new, box.sizes))
        return lax.dynamic_update_slice(x, lax.reshape(new, box.sizes), box.starts)
    if not typeof(new).size:
        return x
    points = _points(x, index, leaves)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(points.grid_ndim, points.grid_ndim + len(points.windows))),
        inserted_window_dims=points.dims,
        scatter_dims_to_operand_dims=points.dims,
    )
    updates = lax.transpose(new, tuple(int(d) for d in np.argsort(points.order)))
    return scatter(x, points.indices, updates, numbers, mode="drop")


class _Points(NamedTuple):
    """A part as a grid of points in some dimensions, and whole windows in the others.

    Attributes:
      dims: dimensions with points.
      windows: the other dimensions.
      indices: ``[*grid, len(dims)]`` indices.
      grid_ndim: rank of the grid.
      order: permutation from ``[*grid, *windows]`` to the part's dimensions.
    """

    dims: tuple[int, ...]
    windows: tuple[int, ...]
    indices: Value
    grid_ndim: int
    order: tuple[int, ...]


def _points(x: Value, index: Index, leaves: Leaves) -> _Points:
    """Integers share the first dimensions of the grid; each span has one of its own."""
    shape = typeof(x).shape
    found = iter(leaves)
    arrays = [next(found) if e[0] is None else e[0] for e in index.entries]
    whole = [
        isinstance(e, Span) and e.start == 0 and e.size == n and (e.stride == 1 or n == 1)
        for e, n in zip(index.entries, shape, strict=True)
    ]
    dims = tuple(d for d, w in enumerate(whole) if not w)
    picked = np.broadcast_shapes(
        *(np.shape(a) if isinstance(a, int) else typeof(a).shape for a, e in
          zip(arrays, index.entries, strict=True) if isinstance(e, Pick))
    )  # fmt: skip
    spans = [d for d in dims if isinstance(index.entries[d], Span)]
    grid = (*picked, *(index.entries[d].size for d in spans))  # pyright: ignore[reportAttributeAccessIssue]
    parts: list[Value] = []
    for d in dims:
        e = index.entries[d]
        if isinstance(e, Pick):
            a = _int32(arrays[d]) if isinstance(arrays[d], int) else wrapped(arrays[d], shape[d])
            at = tuple(range(len(picked) - typeof(a).ndim, len(picked)))
        else:
            steps = np.arange(e.size, dtype=np.int32) * np.int32(e.stride)
            a = _int32(arrays[d]) if isinstance(arrays[d], int) else wrapped(arrays[d], shape[d])
            steps = lax.convert_element_type(steps, typeof(a).dtype)
            a = lax.add(lax.broadcast(a, (e.size,)), steps)
            at = (len(picked) + spans.index(d),)
        parts.append(_spread(a, grid, at))
    wide = any(typeof(p).dtype.itemsize > 4 for p in parts)
    parts = [lax.convert_element_type(p, np.int64 if wide else np.int32) for p in parts]
    indices = lax.concatenate([lax.expand_dims(p, (len(grid),)) for p in parts], len(grid))
    windows = tuple(d for d in range(len(shape)) if d not in dims)
    return _Points(dims, windows, indices, len(grid), _order(index, len(picked), spans, windows))


def _spread(a: Value, grid: tuple[int, ...], at: tuple[int, ...]) -> Value:
    """Broadcast an array whose dimensions are those of the grid at `at`, or have size 1."""
    shape = typeof(a).shape
    keep = [i for i, d in enumerate(at) if shape[i] == grid[d]]
    a = lax.squeeze(a, tuple(i for i in range(len(shape)) if i not in keep))
    return lax.broadcast_in_dim(a, grid, tuple(at[i] for i in keep))


def _int32(value: int) -> Value:
    return np.int32(value)


def _order(
    index: Index, num_picked: int, spans: Sequence[int], windows: Sequence[int]
) -> tuple[int, ...]:
    position = pick_position(index)
    n_grid = num_picked + len(spans)
    places = {d: num_picked + i for i, d in enumerate(spans)}
    places |= {d: n_grid + i for i, d in enumerate(windows)}
    order = [places[d] for d, e in enumerate(index.entries) if isinstance(e, Span)]
    if position is not None:
        order[position:position] = range(num_picked)
    return tuple(order)
