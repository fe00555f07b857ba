"""Result types of reductions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.axes import check_axes
from tans_lax.reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)


def without_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` without the dimensions `axes`."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _is_number(dtype: Any) -> bool:
    return issubdtype(dtype, np.number)


def _is_integral(dtype: Any) -> bool:
    return dtype == np.bool_ or issubdtype(dtype, np.integer)


def _is_number_or_bool(dtype: Any) -> bool:
    return dtype == np.bool_ or _is_number(dtype)


def _reduction(
    name: str, accepts: Callable[[Any], bool], expected: str
) -> Callable[..., ShapedArray]:
    def reduction_type(x: ShapedArray, *, axes: tuple[int, ...], **_: Any) -> ShapedArray:
        if not accepts(x.dtype):
            raise TypeError(
                f"{name}: given an operand of dtype {x.dtype}, expected {expected}. "
                "Convert it with lax.convert_element_type first."
            )
        check_axes(name, axes, x)
        return x.update(shape=without_axes(x.shape, axes))

    return reduction_type


def _arg_extremum(name: str) -> Callable[..., ShapedArray]:
    def arg_extremum_type(
        x: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any
    ) -> ShapedArray:
        check_axes(name, axes, x)
        if not issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"{name}: given index_dtype {index_dtype}, expected an integer dtype such as int32."
            )
        if not (_is_number_or_bool(x.dtype) and not issubdtype(x.dtype, np.complexfloating)):
            raise TypeError(
                f"{name}: given an operand of dtype {x.dtype}, expected a real or bool dtype. "
                "Complex numbers have no order: use their magnitude or real part."
            )
        (axis,) = axes
        if x.shape[axis] == 0:
            raise ValueError(
                f"{name}: axis {axis} of the operand of type {x.str_short(short_dtypes=False)} is "
                "empty, expected at least one element along it."
            )
        return x.update(shape=without_axes(x.shape, axes), dtype=index_dtype, weak_type=False)

    return arg_extremum_type


def _reduce_type(
    *avals: ShapedArray, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr
) -> tuple[ShapedArray, ...]:
    operands = avals[: len(avals) // 2]
    check_axes("reduce", dimensions, operands[0])
    shape = without_axes(operands[0].shape, dimensions)
    return tuple(aval.update(shape=shape, weak_type=False) for aval in operands)


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_sum_p: _reduction("reduce_sum", _is_number, "a numeric dtype"),
    reduce_prod_p: _reduction("reduce_prod", _is_number, "a numeric dtype"),
    reduce_max_p: _reduction("reduce_max", _is_number_or_bool, "a numeric dtype or bool"),
    reduce_min_p: _reduction("reduce_min", _is_number_or_bool, "a numeric dtype or bool"),
    reduce_and_p: _reduction("reduce_and", _is_integral, "an integer dtype or bool"),
    reduce_or_p: _reduction("reduce_or", _is_integral, "an integer dtype or bool"),
    reduce_xor_p: _reduction("reduce_xor", _is_integral, "an integer dtype or bool"),
    argmax_p: _arg_extremum("argmax"),
    argmin_p: _arg_extremum("argmin"),
    reduce_p: _reduce_type,
}
