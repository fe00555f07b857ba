"""Gathers and scatters of arrays with an extended dtype, on their physical form.

The trailing physical dimensions are part of every window.
"""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    default_fill_value,
)
from tans_lax.gather_scatter.primitives import gather_p, scatter_p


def _gather_to_lo(
    logical: tuple[ShapedArray, ...],
    physical: tuple[ShapedArray, ...],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
    **params: Any,
) -> dict[str, Any]:
    extra = physical[0].shape[logical[0].ndim :]
    rank = len(dimension_numbers.offset_dims) + logical[1].ndim - 1
    offsets = dimension_numbers.offset_dims + tuple(range(rank, rank + len(extra)))
    fill = default_fill_value(physical[0].dtype) if fill_value is None else fill_value
    return {
        **params,
        "dimension_numbers": dimension_numbers._replace(offset_dims=offsets),
        "slice_sizes": slice_sizes + extra,
        "fill_value": fill,
    }


def _scatter_to_lo(
    logical: tuple[ShapedArray, ...],
    physical: tuple[ShapedArray, ...],
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> dict[str, Any]:
    extra = physical[0].ndim - logical[0].ndim
    rank = logical[2].ndim
    window = dimension_numbers.update_window_dims + tuple(range(rank, rank + extra))
    return {**params, "dimension_numbers": dimension_numbers._replace(update_window_dims=window)}


TO_LO: Final[dict[Primitive, Callable[..., dict[str, Any]]]] = {
    gather_p: _gather_to_lo,
    scatter_p: _scatter_to_lo,
}
