"""Result types of windowed reductions and their scatters."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_shape_tuple,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from tans_lax.windows.padding import Padding

type Sizes = tuple[int, ...]


def _window_shape(
    name: str,
    x: ShapedArray,
    window_dimensions: Sizes,
    window_strides: Sizes,
    padding: Padding,
    base_dilation: Sizes,
    window_dilation: Sizes,
) -> Sizes:
    sizes = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "base_dilation": base_dilation,
        "window_dilation": window_dilation,
    }
    for which, value in sizes.items():
        if len(value) != x.ndim or any(entry <= 0 for entry in value):
            raise TypeError(
                f"{name}: given {which} {value} for an operand of type "
                f"{x.str_short(short_dtypes=False)}, expected {x.ndim} positive ints. "
                "Write 1 for dimensions that are not windowed."
            )
    if len(padding) != x.ndim:
        raise TypeError(
            f"{name}: given padding {padding}, expected a pair (below, above) for each of the "
            f"{x.ndim} dimensions. Write (0, 0) where nothing is padded."
        )
    return reduce_window_shape_tuple(
        x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )


def _named_window(name: str) -> Callable[..., ShapedArray]:
    def window_type(x: ShapedArray, **params: Any) -> ShapedArray:
        if not issubdtype(x.dtype, np.number):
            raise TypeError(
                f"{name}: given an operand of dtype {x.dtype}, expected a numeric dtype. "
                "Convert it with lax.convert_element_type first."
            )
        return x.update(shape=_window_shape(name, x, **params))

    return window_type


def _reduce_window_type(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[ShapedArray, ...]:
    del jaxpr
    operands = avals[: len(avals) // 2]
    shape = _window_shape("reduce_window", operands[0], **params)
    return tuple(x.update(shape=shape, weak_type=False) for x in operands)


def _select_and_scatter_type(
    operand: ShapedArray, source: ShapedArray, init: ShapedArray, **params: Any
) -> ShapedArray:
    del source, init, params
    return operand.update(weak_type=False)


def _select_and_scatter_add_type(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
) -> ShapedArray:
    del select_prim
    ones = (1,) * operand.ndim
    shape = _window_shape(
        "select_and_scatter_add", operand, base_dilation=ones, window_dilation=ones, **params
    )
    if source.shape != shape:
        raise TypeError(
            f"select_and_scatter_add: given source {source.str_short(short_dtypes=False)}, "
            f"expected shape {shape}: one element for each window of the operand."
        )
    return operand.update(dtype=source.dtype, weak_type=False)


def _select_and_gather_add_type(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
) -> ShapedArray:
    del select_prim
    if tangents.shape != operand.shape:
        raise TypeError(
            f"select_and_gather_add: given tangents {tangents.str_short(short_dtypes=False)}, "
            f"expected the operand's shape {operand.shape}."
        )
    return tangents.update(shape=_window_shape("select_and_gather_add", operand, **params))


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_window_p: _reduce_window_type,
    reduce_window_sum_p: _named_window("reduce_window_sum"),
    reduce_window_max_p: _named_window("reduce_window_max"),
    reduce_window_min_p: _named_window("reduce_window_min"),
    select_and_scatter_p: _select_and_scatter_type,
    select_and_scatter_add_p: _select_and_scatter_add_type,
    select_and_gather_add_p: _select_and_gather_add_type,
}
