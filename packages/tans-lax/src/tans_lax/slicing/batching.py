"""Batching of slices.

While the indices are not mapped, a mapped array only gains a dimension that is taken whole. With
mapped indices each element of the batch has its own window: a gather, or a scatter for updates.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.gather_scatter import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tans_lax.rows import batch_to_front
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p

type Value = Any  # an array, a Python scalar or a tracer


def _with(values: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return (*values[:position], value, *values[position:])


def _slice_batch(
    axis: Any,
    args: tuple[Value],
    dims: tuple[int],
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> tuple[Value, int]:
    (x,), (dim,) = args, dims
    starts = _with(start_indices, dim, 0)
    limits = _with(limit_indices, dim, typeof(x).shape[dim])
    steps = None if strides is None else _with(strides, dim, 1)
    return lax.slice(x, starts, limits, steps), dim


def _dynamic_slice_batch(
    axis: Any,
    args: tuple[Value, ...],
    dims: tuple[Any, ...],  # int, or None where an operand is not mapped
    *,
    slice_sizes: tuple[int, ...],
) -> tuple[Value, int]:
    operand, *indices = args
    dim, *index_dims = dims
    if all(d is None for d in index_dims):
        indices.insert(dim, _zero_like(indices))
        sizes = _with(slice_sizes, dim, typeof(operand).shape[dim])
        return lax.dynamic_slice(operand, indices, sizes, allow_negative_indices=False), dim
    shape = _logical_shape(operand, dim)
    moving = _moving_dims(shape, slice_sizes)
    if not moving:  # the windows are the whole array, whatever the indices
        return batch_to_front(axis, operand, dim), 0
    starts = _start_matrix(axis, indices, index_dims, moving)
    mapped = dim is not None
    if mapped:
        operand, slice_sizes = batch_to_front(axis, operand, dim), (1, *slice_sizes)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, 1 + len(shape))),
        collapsed_slice_dims=(),
        start_index_map=tuple(d + mapped for d in moving),
        operand_batching_dims=(0,) if mapped else (),
        start_indices_batching_dims=(0,) if mapped else (),
    )
    out = lax.gather(
        operand,
        starts,
        numbers,
        slice_sizes,
        unique_indices=mapped,
        indices_are_sorted=mapped,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


def _dynamic_update_slice_batch(
    axis: Any, args: tuple[Value, ...], dims: tuple[int | None, ...]
) -> tuple[Value, int]:
    operand, update, *indices = args
    operand_dim, update_dim, *index_dims = dims
    window = _logical_shape(update, update_dim)
    operand = batch_to_front(axis, operand, operand_dim)
    update = batch_to_front(axis, update, update_dim)
    if all(d is None for d in index_dims):
        starts = [_zero_like(indices), *indices]
        return lax.dynamic_update_slice(operand, update, starts, allow_negative_indices=False), 0
    moving = _moving_dims(typeof(operand).shape[1:], window)
    if not moving:
        return update, 0
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, 1 + len(window))),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=tuple(d + 1 for d in moving),
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    out = lax.scatter(
        operand,
        _start_matrix(axis, indices, index_dims, moving),
        update,
        numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


def _logical_shape(x: Value, dim: int | None) -> tuple[int, ...]:
    shape = typeof(x).shape
    return shape if dim is None else (*shape[:dim], *shape[dim + 1 :])


def _moving_dims(shape: Sequence[int], window: Sequence[int]) -> list[int]:
    """Dimensions in which the window can move; in the others its start clamps to 0."""
    return [d for d, (size, n) in enumerate(zip(shape, window, strict=True)) if n != size]


def _zero_like(indices: Sequence[Value]) -> Value:
    return typeof(indices[0]).dtype.type(0) if indices else 0


def _start_matrix(
    axis: Any, indices: Sequence[Value], dims: Sequence[int | None], kept: Sequence[int]
) -> Value:
    """Put the kept indices of each batch element into a row: shape [batch, len(kept)]."""
    columns = [
        lax.broadcast_in_dim(indices[k], (axis.size, 1), () if dims[k] is None else (0,))
        for k in kept
    ]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, 1)


BATCHING: Final[dict[Primitive, Callable[..., tuple[Value, int]]]] = {
    slice_p: _slice_batch,
    dynamic_slice_p: _dynamic_slice_batch,
    dynamic_update_slice_p: _dynamic_update_slice_batch,
}
