"""Types of gathers and scatters.

Both relate one operand, index vectors and windows, so they share the checks: for a scatter the
updates stand where the result of the gather stands.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
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

type TypeRule = Callable[..., ShapedArray]


def _gather_type(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    fill_value: Any,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
) -> ShapedArray:
    _check_numbers("gather", operand, indices, dimension_numbers)
    _check_slice_sizes(operand, dimension_numbers, slice_sizes)
    left_out = {*dimension_numbers.collapsed_slice_dims, *dimension_numbers.operand_batching_dims}
    window = iter([n for d, n in enumerate(slice_sizes) if d not in left_out])
    batch = iter(indices.shape[:-1])
    rank = operand.ndim - len(left_out) + indices.ndim - 1
    offsets = set(dimension_numbers.offset_dims)
    if offsets and not 0 <= min(offsets) <= max(offsets) < rank:
        raise TypeError(
            f"gather: given offset_dims {dimension_numbers.offset_dims}, expected dimensions of a "
            f"result with {rank} dimensions."
        )
    shape = tuple(next(window) if d in offsets else next(batch) for d in range(rank))
    return operand.update(shape=shape)


def _check_slice_sizes(
    operand: ShapedArray, numbers: GatherDimensionNumbers, sizes: tuple[int, ...]
) -> None:
    if len(sizes) != operand.ndim or not all(
        0 <= n <= size for n, size in zip(sizes, operand.shape, strict=True)
    ):
        raise TypeError(
            f"gather: given slice_sizes {sizes} for an operand of type {operand.str_short()}, "
            "expected one size per dimension, none larger than the operand. An axis of size 0 has "
            "no element to read."
        )
    for d in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims):
        if sizes[d] > 1:
            raise TypeError(
                f"gather: given slice size {sizes[d]} for dimension {d}, which is collapsed or a "
                "batching dimension; expected at most 1. Keep the dimension among offset_dims."
            )


def _check_numbers(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: GatherDimensionNumbers | ScatterDimensionNumbers,
) -> None:
    window, collapsed, mapped, operand_batch, indices_batch = numbers
    if not isinstance(indices.dtype, np.dtype) or indices.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: given indices of type {indices.str_short()}, expected an integer type. "
            "Convert them with astype(int)."
        )
    if not indices.ndim or indices.shape[-1] != len(mapped):
        raise TypeError(
            f"{name}: given indices of type {indices.str_short()} and {len(mapped)} mapped "
            f"dimensions {mapped}, expected index vectors of that length in the last dimension. "
            "Add a dimension of size 1 for a single mapped dimension."
        )
    _check_dims(name, f"{numbers._fields[0]} {window}", window, None, ascending=True)
    _check_dims(name, f"{numbers._fields[1]} {collapsed}", collapsed, operand.ndim, ascending=True)
    _check_dims(name, f"{numbers._fields[2]} {mapped}", mapped, operand.ndim)
    _check_dims(name, f"{numbers._fields[3]} {operand_batch}", operand_batch, operand.ndim)
    batch_rank = indices.ndim - 1
    _check_dims(name, f"{numbers._fields[4]} {indices_batch}", indices_batch, batch_rank)
    if {*operand_batch} & {*collapsed, *mapped}:
        raise TypeError(
            f"{name}: given operand_batching_dims {operand_batch}, expected none of the collapsed "
            f"{collapsed} or mapped dimensions {mapped}."
        )
    if [operand.shape[d] for d in operand_batch] != [indices.shape[d] for d in indices_batch]:
        raise TypeError(
            f"{name}: given batching dimensions {operand_batch} of an operand of type "
            f"{operand.str_short()} and {indices_batch} of indices of type {indices.str_short()}, "
            "expected pairs of equal size."
        )
    if len(window) + len(collapsed) + len(operand_batch) != operand.ndim:
        raise TypeError(
            f"{name}: given {len(window)} window dimensions, {len(collapsed)} collapsed ones and "
            f"{len(operand_batch)} batching ones for an operand of type {operand.str_short()}, "
            f"expected {operand.ndim} in all: each dimension is one of the three."
        )


def _check_dims(
    name: str, what: str, dims: Sequence[int], rank: int | None, ascending: bool = False
) -> None:
    in_range = rank is None or all(0 <= d < rank for d in dims)
    if not in_range or len(set(dims)) != len(dims) or (ascending and list(dims) != sorted(dims)):
        bound = "" if rank is None else f" from 0 to {rank - 1}"
        raise TypeError(
            f"{name}: given {what}, expected distinct dimensions{bound}"
            f"{' in ascending order' if ascending else ''}."
        )


def _scatter_type(name: str, numeric: bool) -> TypeRule:
    def rule(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        mode: GatherScatterMode,
        unique_indices: bool,
        update_consts: tuple[Any, ...],
        update_jaxpr: Any,
    ) -> ShapedArray:
        if operand.dtype != updates.dtype:
            raise TypeError(
                f"{name}: given operand {operand.str_short()} and updates {updates.str_short()}, "
                "expected one dtype. Convert the updates with astype."
            )
        if numeric and operand.dtype == np.bool_:
            raise TypeError(
                f"{name}: given an operand of type {operand.str_short()}, expected a numeric "
                "dtype. Use scatter_max for or, scatter_min for and."
            )
        _check_numbers(name, operand, indices, dimension_numbers)
        _check_updates(name, operand, indices, updates, dimension_numbers)
        return operand

    return rule


def _check_updates(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    window = numbers.update_window_dims
    rank = len(window) + indices.ndim - 1
    batch = tuple(n for d, n in enumerate(updates.shape) if d not in window)
    if updates.ndim != rank or any(d >= rank for d in window) or batch != indices.shape[:-1]:
        raise TypeError(
            f"{name}: given updates of type {updates.str_short()} and indices of type "
            f"{indices.str_short()}, expected {rank} dimensions: those of the indices but the "
            f"last, {indices.shape[:-1]}, and the window's at {window}. Broadcast the updates."
        )
    sizes = numbers.window_sizes(operand.shape, updates.shape)
    if any(n > size for n, size in zip(sizes, operand.shape, strict=True)):
        raise TypeError(
            f"{name}: given windows of sizes {sizes} for an operand of type "
            f"{operand.str_short()}, expected none larger than the operand. Make the updates "
            "smaller, or pad the operand."
        )


TYPES: Final[dict[Primitive, TypeRule]] = {
    gather_p: _gather_type,
    scatter_p: _scatter_type("scatter", numeric=False),
    scatter_add_p: _scatter_type("scatter_add", numeric=True),
    scatter_sub_p: _scatter_type("scatter_sub", numeric=True),
    scatter_mul_p: _scatter_type("scatter_mul", numeric=True),
    scatter_min_p: _scatter_type("scatter_min", numeric=False),
    scatter_max_p: _scatter_type("scatter_max", numeric=False),
}
