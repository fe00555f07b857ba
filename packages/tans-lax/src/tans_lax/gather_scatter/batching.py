"""Batching of gathers and scatters.

Mapped indices of an array that is mapped too stay beside it as batching dimensions. Otherwise the
mapped dimension joins the window (array mapped) or the batch of index vectors (indices mapped).
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
)
from tans_lax.gather_scatter.primitives import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from tans_lax.rows import batch_to_front, move_axis
from tans_xla.sizes import min_size

type Value = Any  # an array, a Python scalar or a tracer


def _shift(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(d + 1 for d in dims)


def _gather_batch(
    axis: Any,
    args: tuple[Value, Value],
    dims: tuple[int | None, int | None],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    **params: Any,
) -> tuple[Value, int]:
    operand, indices = args
    operand_dim, indices_dim = dims
    offsets, collapsed, mapped, operand_batch, indices_batch = dimension_numbers
    offsets = _shift(offsets)
    if operand_dim is not None:
        operand = move_axis(operand, operand_dim, 0)
        collapsed, mapped, operand_batch = map(_shift, (collapsed, mapped, operand_batch))
    if indices_dim is not None:
        indices = move_axis(indices, indices_dim, 0)
        indices_batch = _shift(indices_batch)
    if indices_dim is None:
        offsets = (0, *offsets)
        slice_sizes = (typeof(operand).shape[0], *slice_sizes)
    elif operand_dim is not None:
        operand_batch, indices_batch = (0, *operand_batch), (0, *indices_batch)
        slice_sizes = (min_size(1, axis.size), *slice_sizes)
    else:  # the rows of the batch may repeat each other's indices
        indices_are_sorted = unique_indices = False
    numbers = GatherDimensionNumbers(offsets, collapsed, mapped, operand_batch, indices_batch)
    out = lax.gather(
        operand,
        indices,
        numbers,
        slice_sizes,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        **params,
    )
    return out, 0


def _scatter_batch(primitive: Primitive) -> Callable[..., tuple[Value, int]]:
    def rule(
        axis: Any,
        args: tuple[Value, Value, Value],
        dims: tuple[int | None, int | None, int | None],
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> tuple[Value, int]:
        operand, indices, updates = args
        operand_dim, indices_dim, updates_dim = dims
        operand = batch_to_front(axis, operand, operand_dim)
        updates = batch_to_front(axis, updates, updates_dim)
        window, *operand_side, indices_batch = dimension_numbers
        window = _shift(window)
        inserted, mapped, operand_batch = map(_shift, operand_side)
        if indices_dim is None:
            window = (0, *window)
        else:
            indices = move_axis(indices, indices_dim, 0)
            operand_batch, indices_batch = (0, *operand_batch), (0, *_shift(indices_batch))
        numbers = ScatterDimensionNumbers(window, inserted, mapped, operand_batch, indices_batch)
        out = primitive.bind(operand, indices, updates, dimension_numbers=numbers, **params)
        return out, 0

    return rule


BATCHING: Final[dict[Primitive, Callable[..., tuple[Value, int]]]] = {
    gather_p: _gather_batch,
    scatter_p: _scatter_batch(scatter_p),
    scatter_add_p: _scatter_batch(scatter_add_p),
    scatter_sub_p: _scatter_batch(scatter_sub_p),
    scatter_mul_p: _scatter_batch(scatter_mul_p),
    scatter_min_p: _scatter_batch(scatter_min_p),
    scatter_max_p: _scatter_batch(scatter_max_p),
}
