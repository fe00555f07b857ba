"""Reductions over sliding windows, and the scatters that are their derivatives."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Array, Primitive, tree, typeof
from tans_lax.reductions.computations import check_init_values, trace_computation
from tans_lax.reductions.monoids import named_fold
from tans_lax.windows.padding import (
    canonical_padding,
    count_windows,
    dilated_size,
    padtype_to_pads,
)
from tans_xla.sizes import as_sizes

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar
type Sizes = Sequence[int]

reduce_window_p: Final = Primitive(
    "reduce_window", family=__name__, multiple_results=True, call_like=True
)
reduce_window_sum_p: Final = Primitive("reduce_window_sum", family=__name__)
reduce_window_max_p: Final = Primitive("reduce_window_max", family=__name__)
reduce_window_min_p: Final = Primitive("reduce_window_min", family=__name__)
select_and_scatter_p: Final = Primitive("select_and_scatter", family=__name__, call_like=True)
select_and_scatter_add_p: Final = Primitive("select_and_scatter_add", family=__name__)
select_and_gather_add_p: Final = Primitive("select_and_gather_add", family=__name__)

_NAMED: Final = {
    "sum": reduce_window_sum_p,
    "max": reduce_window_max_p,
    "min": reduce_window_min_p,
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sizes,
    window_strides: Sizes | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sizes | None = None,
    window_dilation: Sizes | None = None,
) -> Any:
    """Fold each position of a sliding window with an associative function of scalars.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: scalar (pytree of scalars) of the operand's dtype that each fold starts from and
        that pads; the identity of `computation`.
      computation: from two (pytrees of) scalars to one.
      window_dimensions: size of the window in each dimension.
      window_strides: step between windows; ones by default.
      padding: "VALID", "SAME", "SAME_LOWER", or (below, above) for each dimension.
      base_dilation: distance of the operand's neighbours; ones by default.
      window_dilation: distance of the window's neighbours; ones by default.

    Returns:
      Array (pytree of arrays) with one element for each window.

    Raises:
      TypeError: lengths, strides or dtypes don't fit.
      RuntimeError: an unknown name of a padding.

    Example:
      >>> import numpy as np, tans_lax as lax
      >>> reduce_window(np.array([1, 2, 3, 4]), 0, lax.add, (2,)).tolist()
      [3, 5, 7]
    """
    flat, structure = tree.flatten(operand)
    inits, init_structure = tree.flatten(init_value)
    avals = [typeof(x) for x in flat]
    monoid, inits = named_fold(computation, inits, avals)
    check_init_values("reduce_window", structure, init_structure, avals, [typeof(x) for x in inits])
    params = window_params(
        avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    primitive = _NAMED.get(monoid or "")
    if primitive is not None:
        outs = [primitive.bind(flat[0], **params)]
    else:
        jaxpr = trace_computation("reduce_window", computation, structure, avals)
        outs = reduce_window_p.bind(*flat, *inits, jaxpr=jaxpr, **params)
    return tree.unflatten(structure, outs)


def window_params(
    shape: Sizes,
    window_dimensions: Sizes,
    window_strides: Sizes | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sizes | None,
    window_dilation: Sizes | None,
) -> dict[str, Any]:
    """Return the parameters of a windowed reduction of an operand of shape `shape`.

    Raises:
      TypeError: a length differs from the rank.
      RuntimeError: an unknown name of a padding.
    """
    ones = (1,) * len(shape)
    sizes = {
        "window_dimensions": window_dimensions,
        "window_strides": ones if window_strides is None else window_strides,
        "base_dilation": ones if base_dilation is None else base_dilation,
        "window_dilation": ones if window_dilation is None else window_dilation,
    }
    params: dict[str, Any] = {name: as_sizes(value) for name, value in sizes.items()}
    for name, value in params.items():
        if len(value) != len(shape):
            raise TypeError(
                f"reduce_window: given {name} {value} for an operand of shape {tuple(shape)}, "
                f"expected {len(shape)} entries. Write 1 for dimensions that are not windowed."
            )
    if isinstance(padding, str):
        dilated = map(dilated_size, shape, params["base_dilation"])
        window = map(dilated_size, params["window_dimensions"], params["window_dilation"])
        padding = padtype_to_pads(tuple(dilated), tuple(window), params["window_strides"], padding)
    return params | {"padding": canonical_padding(padding)}


def reduce_window_shape_tuple(
    operand_shape: Sizes,
    window_dimensions: Sizes,
    window_strides: Sizes,
    padding: Sequence[tuple[int, int]],
    base_dilation: Sizes | None = None,
    window_dilation: Sizes | None = None,
) -> tuple[int, ...]:
    """Return the shape of a windowed reduction.

    Args:
      operand_shape: shape of the operand.
      window_dimensions: size of the window in each dimension.
      window_strides: step between windows.
      padding: (below, above) for each dimension.
      base_dilation: distance of the operand's neighbours; ones by default.
      window_dilation: distance of the window's neighbours; ones by default.

    Example:
      >>> reduce_window_shape_tuple((5,), (2,), (2,), ((0, 1),))
      (3,)
    """
    ones = (1,) * len(operand_shape)
    sizes = map(dilated_size, operand_shape, base_dilation or ones)
    padded = [size + low + high for size, (low, high) in zip(sizes, padding, strict=True)]
    windows = map(dilated_size, window_dimensions, window_dilation or ones)
    return tuple(map(count_windows, padded, windows, window_strides))


def select_and_scatter_add(
    source: ArrayLike,
    operand: ArrayLike,
    select_prim: Primitive,
    window_dimensions: Sizes,
    window_strides: Sizes,
    padding: Sequence[tuple[int, int]],
) -> Array:
    """Add each element of `source` to the position that its window of `operand` selects.

    Args:
      source: one element for each window.
      operand: the array whose windows select.
      select_prim: ``ge_p`` selects the first maximum, ``le_p`` the first minimum.
      window_dimensions: size of the window in each dimension.
      window_strides: step between windows.
      padding: (below, above) for each dimension.

    Returns:
      Array of the operand's shape and dtype.
    """
    return select_and_scatter_add_p.bind(
        source,
        operand,
        select_prim=select_prim,
        window_dimensions=tuple(window_dimensions),
        window_strides=tuple(window_strides),
        padding=canonical_padding(padding),
    )


def select_and_gather_add(
    tangents: ArrayLike,
    operand: ArrayLike,
    select_prim: Primitive,
    window_dimensions: Sizes,
    window_strides: Sizes,
    padding: Sequence[tuple[int, int]],
    base_dilation: Sizes,
    window_dilation: Sizes,
) -> Array:
    """Take, for each window of `operand`, the element of `tangents` at the selected position.

    Args:
      tangents: array of the operand's shape.
      operand: the array whose windows select.
      select_prim: ``ge_p`` selects the first maximum, ``le_p`` the first minimum.
      window_dimensions: size of the window in each dimension.
      window_strides: step between windows.
      padding: (below, above) for each dimension.
      base_dilation: distance of the operand's neighbours.
      window_dilation: distance of the window's neighbours.

    Returns:
      Array with one element for each window.
    """
    return select_and_gather_add_p.bind(
        tangents,
        operand,
        select_prim=select_prim,
        window_dimensions=tuple(window_dimensions),
        window_strides=tuple(window_strides),
        padding=canonical_padding(padding),
        base_dilation=tuple(base_dilation),
        window_dilation=tuple(window_dilation),
    )
