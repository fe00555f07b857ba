"""Reading the places that a scatter writes."""

from typing import Any

import tans_lax as lax
from tans_core import typeof
from tans_lax.gather_scatter.dimension_numbers import ScatterDimensionNumbers

type Value = Any  # an array, a Python scalar or a tracer


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
