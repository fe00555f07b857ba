"""Reading the places that a scatter writes."""

from typing import Any, Final

import tans_lax as lax
from tans_core import typeof
from tans_lax.gather_scatter.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
)

type Value = Any  # an array, a Python scalar or a tracer

_PROMISE: Final = GatherScatterMode.PROMISE_IN_BOUNDS


def scatter_options(params: dict[str, Any]) -> tuple[ScatterDimensionNumbers, dict[str, Any]]:
    """Split a scatter's parameters into dimension numbers and keywords of the public functions."""
    names = ("indices_are_sorted", "unique_indices", "mode")
    return params["dimension_numbers"], {name: params[name] for name in names}


def at_places(
    x: Value, indices: Value, update_shape: tuple[int, ...], params: dict[str, Any]
) -> Value:
    """Gather `x` where a scatter with these parameters writes; 0 for windows that it drops."""
    numbers, options = scatter_options(params)
    sizes = numbers.window_sizes(typeof(x).shape, update_shape)
    return lax.gather(x, indices, numbers.for_gather(), sizes, fill_value=0, **options)


def near_places(
    x: Value, indices: Value, update_shape: tuple[int, ...], params: dict[str, Any]
) -> Value:
    """Gather `x` where a scatter writes; any element of `x` for windows that it drops.

    This saves the mask of `at_places`; it serves where the result is scattered again.
    """
    return at_places(x, indices, update_shape, {**params, "mode": _PROMISE})
