"""Result type of `dot_general`."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_core.promotion import join_types
from tans_lax.contractions import dot_general_p

type Axes = tuple[int, ...]
type DimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def free_axes(ndim: int, contracting: Axes, batch: Axes) -> Axes:
    """Return the axes of an operand that are neither contracted nor batched."""
    return tuple(axis for axis in range(ndim) if axis not in contracting and axis not in batch)


def _dot_general_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    del precision, out_sharding
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    for x in (lhs, rhs):
        if not (x.dtype == np.bool_ or issubdtype(x.dtype, np.number)):
            raise TypeError(
                f"dot_general: given an operand of dtype {x.dtype}, expected numbers or bools."
            )
    _check_axes("lhs", lhs, lhs_contracting, lhs_batch)
    _check_axes("rhs", rhs, rhs_contracting, rhs_batch)
    _check_pairs("contracting", lhs, lhs_contracting, rhs, rhs_contracting)
    _check_pairs("batch", lhs, lhs_batch, rhs, rhs_batch)
    shape = (
        *(lhs.shape[axis] for axis in lhs_batch),
        *(lhs.shape[axis] for axis in free_axes(lhs.ndim, lhs_contracting, lhs_batch)),
        *(rhs.shape[axis] for axis in free_axes(rhs.ndim, rhs_contracting, rhs_batch)),
    )
    if preferred_element_type is None:
        dtype, weak = join_types(lhs, rhs)
    else:
        dtype, weak = preferred_element_type, False
        if _are_integers(lhs, rhs) and dtype.itemsize < max(lhs.dtype.itemsize, rhs.dtype.itemsize):
            raise TypeError(
                f"dot_general: given preferred_element_type={dtype} for operands of dtypes "
                f"{lhs.dtype} and {rhs.dtype}, expected one that is not narrower: sums of integers "
                "would not fit. Convert the result."
            )
    return lhs.update(shape=shape, dtype=dtype, weak_type=weak)


def _are_integers(lhs: ShapedArray, rhs: ShapedArray) -> bool:
    """Whether a product is one of integers; 8-bit floats, say, have no common type to ask."""
    return all(x.dtype == np.bool_ or issubdtype(x.dtype, np.integer) for x in (lhs, rhs))


def _check_axes(side: str, x: ShapedArray, contracting: Axes, batch: Axes) -> None:
    axes = contracting + batch
    if any(not 0 <= axis < x.ndim for axis in axes):
        _refuse(
            f"{side} {_name(x)} with contracting dimensions {contracting} and batch dimensions "
            f"{batch}, expected dimensions from 0 to {x.ndim - 1}. Count them from the front."
        )
    if len(set(axes)) != len(axes):
        _refuse(
            f"{side} contracting dimensions {contracting} and batch dimensions {batch}, expected "
            "each dimension at most once. Remove the repeated one."
        )


def _check_pairs(
    kind: str, lhs: ShapedArray, lhs_axes: Axes, rhs: ShapedArray, rhs_axes: Axes
) -> None:
    if len(lhs_axes) != len(rhs_axes):
        _refuse(
            f"{len(lhs_axes)} lhs and {len(rhs_axes)} rhs {kind} dimensions, expected as many on "
            "both sides. They are paired in order."
        )
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        if lhs.shape[left] != rhs.shape[right]:
            _refuse(
                f"{kind} dimensions that differ: lhs {_name(lhs)} dimension {left} has size "
                f"{lhs.shape[left]}, rhs {_name(rhs)} dimension {right} has size "
                f"{rhs.shape[right]}; expected equal sizes. Transpose an operand, or pair other "
                "dimensions."
            )


def _name(x: ShapedArray) -> str:
    return x.str_short(short_dtypes=False)


def _refuse(text: str) -> NoReturn:
    raise TypeError(f"dot_general: given {text}")


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    dot_general_p: _dot_general_type,
}
