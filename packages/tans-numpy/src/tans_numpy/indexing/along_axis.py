"""`take_along_axis` and `put_along_axis`: an index for each position of the other axes."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Array, typeof
from tans_lax.gather_scatter import GatherDimensionNumbers, GatherScatterMode
from tans_lax.slicing.start_indices import fits_dtype, wrap_negative
from tans_numpy.indexing import recorded
from tans_numpy.indexing.arguments import (
    as_jax,
    canonical_axis,
    check_arrays,
    check_not_inplace,
    fill_scalar,
    widened,
)
from tans_numpy.indexing.at import _IndexUpdateHelper
from tans_numpy.indexing.get import FILL
from tans_xla import composite

type Value = Any  # an array, a Python scalar or a tracer


@composite(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Value,
    indices: Value,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Take elements along an axis at indices given for each position of the other axes.

    Args:
      arr: array of any shape.
      indices: integers with as many dimensions as `arr`; other dimensions than `axis` broadcast
        against those of `arr`.
      axis: the axis; None takes from the flattened array, with `indices` of one dimension.
      mode: what happens out of bounds: None or ``'fill'`` fills, ``'clip'`` takes the nearest
        element, ``'promise_in_bounds'`` does not check.
      fill_value: scalar to fill with; None is nan, the lowest signed or the highest unsigned
        integer, or True.
      wrap_negative_indices: whether negative indices count from the end.

    Returns:
      Array of the broadcast shape, with the size of `indices` along `axis`.

    Raises:
      TypeError: a list is given, or indices that are not integers.
      ValueError: shapes that don't fit, an unknown mode or an axis out of range.

    Example:
      >>> x = jnp.array([[3, 1], [2, 5]])
      >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1).tolist()
      [[1, 3], [2, 5]]
    """
    check_arrays("take_along_axis", arr, indices)
    indices = widened(indices)
    mode = FILL if mode is None else GatherScatterMode.from_any(mode)
    axis, flat = _along_axis("take_along_axis", arr, indices, axis)
    static = (axis, flat, mode, fill_scalar(fill_value), wrap_negative_indices)
    if recorded.can_replay(arr, indices):
        key = ("take_along_axis", *static)
        return recorded.call(key, lambda a, i: _taken(a, i, *static), [arr, indices])
    return _taken(arr, indices, *static)


def _taken(
    arr: Value,
    indices: Value,
    axis: int,
    flat: bool,
    mode: GatherScatterMode,
    fill_value: Any,
    wrap: bool,
) -> Value:
    if flat:
        arr = lax.reshape(arr, (typeof(arr).size,))
    shape, index_shape = typeof(arr).shape, typeof(indices).shape
    vectors, windows, pairs, collapsed = _along_layout(indices, shape, index_shape, axis, wrap)
    numbers = GatherDimensionNumbers(
        offset_dims=windows,
        collapsed_slice_dims=collapsed,
        start_index_map=(axis,),
        operand_batching_dims=tuple(d for d, _ in pairs),
        start_indices_batching_dims=tuple(d for _, d in pairs),
    )
    sizes = [n if d in windows else 1 for d, n in enumerate(shape)]
    if not shape[axis] or not typeof(vectors).size:
        out = lax.broadcast_shapes(_without(shape, axis), _without(index_shape, axis))
        out = (*out[:axis], index_shape[axis], *out[axis:])
        return lax.full(out, 0, typeof(arr).dtype)
    return lax.gather(arr, vectors, numbers, sizes, mode=mode, fill_value=fill_value)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _along_layout(
    indices: Value, shape: tuple[int, ...], index_shape: tuple[int, ...], axis: int, wrap: bool
) -> tuple[Value, tuple[int, ...], list[tuple[int, int]], tuple[int, ...]]:
    """Sort the dimensions of the array by how indices run over them.

    Returns:
      The index vectors; the dimensions taken whole (indices of size 1 there); pairs of equal
      dimensions of array and indices; dimensions of which one element is taken.
    """
    aval = typeof(indices)
    if aval.dtype.kind == "i" and wrap:
        if not fits_dtype(shape[axis], aval.dtype):
            indices = lax.convert_element_type(indices, np.dtype(np.int32))
        indices = wrap_negative(indices, shape[axis], typeof(indices).dtype)
    windows, pairs, collapsed = [], [], []
    kept: list[int] = []
    for d, (n, m) in enumerate(zip(shape, index_shape, strict=True)):
        if d != axis and m == 1:
            windows.append(d)
            continue
        if d == axis or n == 1:
            collapsed.append(d)
        else:
            pairs.append((d, len(kept)))
        kept.append(m)
    vectors = lax.reshape(indices, (*kept, 1))
    return vectors, tuple(windows), pairs, tuple(collapsed)


def put_along_axis(
    arr: Value,
    indices: Value,
    values: Value,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Write elements along an axis at indices given for each position of the other axes.

    Args:
      arr: array of any shape.
      indices: integers with as many dimensions as `arr`; other dimensions than `axis` broadcast
        against those of `arr`.
      values: array or scalar that broadcasts to the broadcast indices.
      axis: the axis; None writes to the flattened array, with `indices` of one dimension.
      inplace: must be False: arrays are immutable.
      mode: what happens out of bounds: None or ``'drop'`` drops, ``'clip'`` writes to the nearest
        element.

    Returns:
      A new array of the shape of `arr`.

    Raises:
      TypeError: indices that are not integers.
      ValueError: `inplace` is true, or shapes don't fit.

    Example:
      >>> x = jnp.zeros((2, 2))
      >>> jnp.put_along_axis(x, jnp.array([[0], [1]]), 5.0, axis=1, inplace=False).tolist()
      [[5.0, 0.0], [0.0, 5.0]]
    """
    check_not_inplace("put_along_axis", inplace)
    check_arrays("put_along_axis", arr, indices, values)
    indices = widened(indices)
    axis, flat = _along_axis("put_along_axis", arr, indices, axis)
    shape = typeof(arr).shape
    arr = as_jax(arr)
    if flat:
        arr = lax.reshape(arr, (typeof(arr).size,))
    full = typeof(arr).shape
    grid: list[Any] = []
    for d, n in enumerate(full):
        if d == axis:
            grid.append(as_jax(indices))
        else:
            lined = [1] * len(full)
            lined[d] = n
            grid.append(lax.broadcasted_iota(np.dtype(np.int32), lined, d))
    out = _IndexUpdateHelper(arr)[tuple(grid)].set(values, mode=mode)
    return lax.reshape(out, shape) if flat else out


def _along_axis(name: str, arr: Value, indices: Value, axis: int | None) -> tuple[int, bool]:
    """Check arguments of the functions along an axis; return the axis and whether to flatten."""
    aval, index_aval = typeof(arr), typeof(indices)
    if not isinstance(index_aval.dtype, np.dtype) or index_aval.dtype.kind not in "iu":
        raise TypeError(
            f"{name}: given indices of type {index_aval.str_short()}, expected integers. Convert "
            "them with astype(int)."
        )
    if axis is None:
        if index_aval.ndim != 1:
            raise ValueError(
                f"{name}: given axis=None and indices of shape {index_aval.shape}, expected one "
                "dimension. Flatten the indices, or name an axis."
            )
        return 0, True
    if index_aval.ndim != aval.ndim:
        raise ValueError(
            f"{name}: given indices with {index_aval.ndim} dimensions for an array with "
            f"{aval.ndim}, expected as many. Add dimensions of size 1 to the indices."
        )
    axis = canonical_axis(name, axis, aval.ndim)
    pairs = zip(aval.shape, index_aval.shape, strict=True)
    if any(d != axis and n != m and 1 not in (n, m) for d, (n, m) in enumerate(pairs)):
        raise ValueError(
            f"{name}: given an array of shape {aval.shape} and indices of shape "
            f"{index_aval.shape}, expected shapes that broadcast except along axis {axis}. Give "
            "the indices size 1 or the array's size in the other dimensions."
        )
    return axis, False
