"""`take`, `put` and their forms along an axis."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Array, typeof
from tans_lax.gather_scatter import (
    GatherDimensionNumbers,
    GatherScatterMode,
)
from tans_lax.slicing.start_indices import wrap_negative
from tans_numpy.indexing.at import _IndexUpdateHelper
from tans_numpy.indexing.entries import Parsed, Span
from tans_numpy.indexing.get import FILL, Options, get_parsed
from tans_xla import composite

type Value = Any  # an array, a Python scalar or a tracer

_TAKE_MODES: Final = (None, "fill", "clip", "wrap")


def take(
    a: Value,
    indices: Value,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Take elements of an array along an axis.

    Args:
      a: array of any shape.
      indices: integers of any shape.
      axis: the axis; None takes from the flattened array.
      out: must be None.
      mode: what happens out of bounds: None or ``'fill'`` fills (negative indices count from the
        end first), ``'clip'`` takes the nearest element, ``'wrap'`` counts modulo the size.
      unique_indices: promise that no element is taken twice.
      indices_are_sorted: promise that the indices ascend.
      fill_value: scalar to fill with; None is nan, the lowest signed or the highest unsigned
        integer, or True.

    Returns:
      Array of the shape of `a` with `axis` replaced by the shape of `indices`.

    Raises:
      IndexError: elements are taken from an axis of size 0.
      NotImplementedError: `out` is given, or the mode is ``'raise'``.
      TypeError: `a` or `indices` is a list.
      ValueError: unknown mode, axis out of range, or indices that are not integers.

    Example:
      >>> jnp.take(jnp.arange(3) * 10, jnp.array([2, 0])).tolist()
      [20, 0]
    """
    if out is not None:
        raise NotImplementedError(
            "take: given an array as out, expected None: arrays are immutable. Use the result."
        )
    _check_arrays("take", a, indices)
    if mode == "raise":
        raise NotImplementedError(
            "take: given mode 'raise', expected one of 'fill', 'clip', 'wrap': compiled programs "
            "can't raise. Check the indices first, or use mode='fill'."
        )
    if mode not in _TAKE_MODES:
        raise ValueError(
            f"take: given mode {mode!r}, expected one of 'fill', 'clip', 'wrap'. Leave it out to "
            "fill."
        )
    kind = np.dtype(typeof(indices).dtype).kind
    if kind not in "iub":
        raise ValueError(
            f"take: given indices of type {typeof(indices).str_short()}, expected integers. "
            "Convert them with astype(int)."
        )
    shape = typeof(a).shape
    if axis is None:
        axis, shape = 0, (typeof(a).size,)
    axis = _canonical_axis("take", axis, len(shape))
    if not shape[axis] and typeof(indices).size:
        raise IndexError(
            f"take: given {typeof(indices).size} indices for an axis of size 0, expected none. "
            "Check the size first."
        )
    return _take(a, indices, shape, axis, mode, unique_indices, indices_are_sorted, fill_value)


@composite(
    static_argnums=(2, 3, 4, 5, 6, 7),
    static_argnames=("shape", "axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"),
)
def _take(
    a: Value,
    indices: Value,
    shape: tuple[int, ...],
    axis: int,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Value:
    aval = typeof(indices)
    if aval.dtype == np.bool_:
        indices = lax.convert_element_type(indices, np.dtype(np.int32))
    if typeof(a).shape != shape:
        a = lax.reshape(a, shape)
    if mode == "wrap":
        indices = _modulo(indices, shape[axis])
    how = FILL if mode in (None, "fill") else GatherScatterMode.CLIP
    options = Options(how, fill_value, indices_are_sorted, unique_indices, how is FILL)
    entries = [Span(0, n, 1) for n in shape]
    entries[axis] = indices
    return get_parsed(_as_array(a), Parsed(entries), options)


def _as_array(a: Value) -> Value:
    return a if isinstance(a, Array) else np.asarray(a)


def _modulo(indices: Value, size: int) -> Value:
    """Return indices modulo the size, which is not 0 unless there are no indices."""
    aval = typeof(indices)
    n = lax.full_like(indices, max(size, 1))
    indices = lax.rem(indices, n)
    return indices if aval.dtype.kind == "u" else wrap_negative(indices, size, aval.dtype)


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
    _check_arrays("take_along_axis", arr, indices)
    mode = FILL if mode is None else GatherScatterMode.from_any(mode)
    axis, flat = _along_axis("take_along_axis", arr, indices, axis)
    return _take_along_axis(arr, indices, axis, flat, mode, fill_value, wrap_negative_indices)


@composite(
    static_argnums=(2, 3, 4, 5, 6),
    static_argnames=("axis", "flat", "mode", "fill_value", "wrap"),
)
def _take_along_axis(
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
        out = np.broadcast_shapes(_without(shape, axis), _without(index_shape, axis))
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
        if shape[axis] > np.iinfo(aval.dtype).max:
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
    _check_not_inplace("put_along_axis", inplace)
    _check_arrays("put_along_axis", arr, indices, values)
    axis, flat = _along_axis("put_along_axis", arr, indices, axis)
    shape = typeof(arr).shape
    arr = _as_jax(arr)
    if flat:
        arr = lax.reshape(arr, (typeof(arr).size,))
    full = typeof(arr).shape
    grid: list[Any] = []
    for d, n in enumerate(full):
        if d == axis:
            grid.append(_as_jax(indices))
        else:
            lined = [1] * len(full)
            lined[d] = n
            grid.append(np.arange(n, dtype=np.int32).reshape(lined))
    out = _IndexUpdateHelper(arr)[tuple(grid)].set(values, mode=mode)
    return lax.reshape(out, shape) if flat else out


def put(a: Value, ind: Value, v: Value, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Write elements of the flattened array.

    Args:
      a: array of any shape.
      ind: integers of any shape: places in the flattened array.
      v: values of any shape; repeated or cut to the number of places.
      mode: what happens out of bounds: None or ``'clip'`` writes to the nearest element, ``'wrap'``
        counts modulo the size.
      inplace: must be False: arrays are immutable.

    Returns:
      A new array of the shape of `a`.

    Raises:
      NotImplementedError: the mode is ``'raise'``.
      TypeError: a list is given, or indices that are not integers.
      ValueError: `inplace` is true, or unknown mode.

    Example:
      >>> jnp.put(jnp.zeros(3), jnp.array([0, 2]), 1.0, inplace=False).tolist()
      [1.0, 0.0, 1.0]
    """
    _check_not_inplace("put", inplace)
    _check_arrays("put", a, ind, v)
    if mode == "raise":
        raise NotImplementedError(
            "put: given mode 'raise', expected 'clip' or 'wrap': compiled programs can't raise. "
            "Check the indices first."
        )
    if mode not in (None, "clip", "wrap"):
        raise ValueError(
            f"put: given mode {mode!r}, expected 'clip' or 'wrap'. Leave it out to clip."
        )
    a = _as_jax(a)
    count, given = typeof(ind).size, typeof(v).size
    if not given or not count:
        return a
    ind = lax.reshape(ind, (count,)) if typeof(ind).shape != (count,) else _as_jax(ind)
    if given > 1:
        v = lax.reshape(v, (given,))
        v = _IndexUpdateHelper(v)[np.arange(count, dtype=np.int32) % given].get()
    elif typeof(v).shape:
        v = lax.reshape(v, ())
    if mode == "wrap":
        ind = _modulo(ind, typeof(a).size)
    flat = lax.reshape(a, (typeof(a).size,))
    clip = mode == "clip"
    out = _IndexUpdateHelper(flat)[ind].set(v, mode="clip", wrap_negative_indices=not clip)
    return lax.reshape(out, typeof(a).shape)


def _as_jax(x: Value) -> Value:
    return x if isinstance(x, Array) else lax.asarray(x)


def _check_arrays(name: str, *args: Any) -> None:
    for k, x in enumerate(args):
        if isinstance(x, Sequence):
            raise TypeError(
                f"{name}: given a {type(x).__name__} as argument {k}, expected an array or a "
                "scalar. Convert it first: jnp.array(x)."
            )


def _check_not_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"{name}: given inplace=True, expected inplace=False: arrays are immutable. Pass "
            "inplace=False and use the result."
        )


def _canonical_axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: given axis {axis}, expected one of {-ndim} to {ndim - 1} for an array with "
            f"{ndim} dimensions."
        )
    return axis % ndim


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
    axis = _canonical_axis(name, axis, aval.ndim)
    pairs = zip(aval.shape, index_aval.shape, strict=True)
    if any(d != axis and n != m and 1 not in (n, m) for d, (n, m) in enumerate(pairs)):
        raise ValueError(
            f"{name}: given an array of shape {aval.shape} and indices of shape "
            f"{index_aval.shape}, expected shapes that broadcast except along axis {axis}. Give "
            "the indices size 1 or the array's size in the other dimensions."
        )
    return axis, False
