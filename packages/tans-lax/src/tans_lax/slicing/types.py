"""Types of slices: bounds are checked here, once per distinct equation."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p


def _slice_type(
    operand: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    steps = (1,) * operand.ndim if strides is None else strides
    bounds = {"start_indices": start_indices, "limit_indices": limit_indices, "strides": steps}
    for name, values in bounds.items():
        if len(values) != operand.ndim:
            raise TypeError(
                f"slice: given {name} {values} for an operand of type {operand.str_short()}, "
                f"expected {operand.ndim} values. Give one per dimension; 0, the size and 1 take "
                "a dimension whole."
            )
    dims = range(operand.ndim)
    for d, start, limit, step, size in zip(
        dims, start_indices, limit_indices, steps, operand.shape, strict=True
    ):
        if not 0 <= start <= limit <= size or step < 1:
            raise TypeError(
                f"slice: given start {start}, limit {limit}, stride {step} for dimension {d} of "
                f"an operand of type {operand.str_short()}, expected 0 <= start <= limit <= {size} "
                "and a positive stride. For bounds that count from the end or exceed the size, "
                "use NumPy indexing."
            )
    shape = tuple(
        (limit - start + step - 1) // step
        for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    )
    return operand.update(shape=shape)


def _dynamic_slice_type(
    operand: ShapedArray, *indices: ShapedArray, slice_sizes: tuple[int, ...]
) -> ShapedArray:
    _check_indices("dynamic_slice", operand, indices)
    _check_window("dynamic_slice", "slice_sizes", slice_sizes, operand)
    return operand.update(shape=slice_sizes)


def _dynamic_update_slice_type(
    operand: ShapedArray, update: ShapedArray, *indices: ShapedArray
) -> ShapedArray:
    name = "dynamic_update_slice"
    if operand.dtype != update.dtype:
        raise TypeError(
            f"{name}: given operand {operand.str_short()} and update {update.str_short()}, "
            "expected one dtype. Convert the update with astype."
        )
    _check_indices(name, operand, indices)
    _check_window(name, "an update of shape", update.shape, operand)
    return operand.update(weak_type=False)


def _check_window(name: str, what: str, sizes: tuple[int, ...], operand: ShapedArray) -> None:
    if len(sizes) != operand.ndim:
        raise TypeError(
            f"{name}: given {what} {sizes} for an operand of type {operand.str_short()}, expected "
            f"{operand.ndim} sizes. Give a size of 1 to dimensions of which one element is meant."
        )
    if not all(0 <= size <= dim for size, dim in zip(sizes, operand.shape, strict=True)):
        raise TypeError(
            f"{name}: given {what} {sizes} for an operand of type {operand.str_short()}, expected "
            f"sizes from 0 to {operand.shape}. Make the window smaller, or pad the operand."
        )


def _check_indices(name: str, operand: ShapedArray, indices: tuple[ShapedArray, ...]) -> None:
    if len(indices) != operand.ndim:
        raise TypeError(
            f"{name}: given {len(indices)} indices for an operand of type {operand.str_short()}, "
            f"expected {operand.ndim}. Pass 0 for dimensions that are taken whole."
        )
    integral = all(issubdtype(i.dtype, np.integer) for i in indices)
    if not integral or len({i.dtype for i in indices}) > 1 or any(i.ndim for i in indices):
        given = ", ".join(i.str_short() for i in indices)
        raise TypeError(
            f"{name}: given indices of types {given}, expected integer scalars of one dtype. "
            "Convert them with astype(int)."
        )


TYPES: Final[dict[Primitive, Callable[..., ShapedArray]]] = {
    slice_p: _slice_type,
    dynamic_slice_p: _dynamic_slice_type,
    dynamic_update_slice_p: _dynamic_update_slice_type,
}
