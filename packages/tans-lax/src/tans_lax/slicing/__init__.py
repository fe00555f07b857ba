"""Slices of arrays: static slices, dynamic slices, dynamic updates, and their one-axis forms."""

from collections.abc import Sequence
from typing import Any

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.slicing.start_indices import canonical_starts
from tans_lax.slicing.window import Slice, ds
from tans_xla import composite
from tans_xla.sizes import as_int, as_size, as_sizes

type Value = Any  # an array, a Python scalar or a tracer

__all__ = (
    "Slice",
    "ds",
    "dslice",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "index_in_dim",
    "slice",
    "slice_in_dim",
    "slice_p",
)

dslice = ds

slice_p = Primitive("slice", family=__name__)
dynamic_slice_p = Primitive("dynamic_slice", family=__name__)
dynamic_update_slice_p = Primitive("dynamic_update_slice", family=__name__)


def slice(
    operand: Value,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:
    """Take the part of an array between static bounds.

    Args:
      operand: array of any shape and dtype; a weak type is kept.
      start_indices: first index per dimension.
      limit_indices: end per dimension, not included.
      strides: positive step per dimension; None means 1 everywhere.

    Returns:
      Array of shape ``ceil((limit - start) / stride)``.

    Raises:
      TypeError: the bounds don't fit the operand's shape.

    Example:
      >>> lax.slice(np.arange(6), (1,), (6,), (2,)).tolist()
      [1, 3, 5]
    """
    return slice_p.bind(
        operand,
        start_indices=as_sizes(start_indices),
        limit_indices=as_sizes(limit_indices),
        strides=None if strides is None else as_sizes(strides),
    )


def slice_in_dim(
    operand: Value,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Value:
    """Slice one axis between static bounds.

    Args:
      operand: array with at least one dimension.
      start_index: first index; negative counts from the end; None is 0.
      limit_index: end, not included; negative counts from the end; None is the size.
      stride: positive step.
      axis: the axis.

    Raises:
      TypeError: the bounds don't fit.

    Example:
      >>> lax.slice_in_dim(np.arange(6).reshape(2, 3), 1, None, axis=1).tolist()
      [[1, 2], [4, 5]]
    """
    shape = typeof(operand).shape
    axis = _canonical_axis("slice_in_dim", axis, len(shape))
    size = shape[axis]
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = 0 if start_index is None else _from_end(start_index, size)
    limits[axis] = size if limit_index is None else _from_end(limit_index, size)
    strides[axis] = as_size(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Value, index: int, axis: int = 0, keepdims: bool = True) -> Value:
    """Take one static index of an axis.

    Args:
      operand: array with at least one dimension.
      index: position; negative counts from the end.
      axis: the axis.
      keepdims: keep the axis with size 1.

    Raises:
      IndexError: the index or the axis is out of range.

    Example:
      >>> lax.index_in_dim(np.arange(6).reshape(2, 3), -1, keepdims=False).tolist()
      [3, 4, 5]
    """
    shape = typeof(operand).shape
    axis = _canonical_axis("index_in_dim", axis, len(shape))
    position = _from_end(index, shape[axis])
    if not 0 <= position < shape[axis]:
        raise IndexError(
            f"index_in_dim: given index {index}, expected one of {-shape[axis]} to "
            f"{shape[axis] - 1} for axis {axis} of size {shape[axis]}. To clamp instead, use "
            "dynamic_index_in_dim."
        )
    result = slice_in_dim(operand, position, position + 1, 1, axis)
    return result if keepdims else _squeeze(result, axis)


def dynamic_slice(
    operand: Value,
    start_indices: Value | Sequence[Value],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Take a window of static size at a position that may be traced.

    Args:
      operand: array of any shape and dtype; a weak type is kept.
      start_indices: one integer scalar per dimension, or an integer array of shape
        ``[operand.ndim]``. The window is moved so that it fits.
      slice_sizes: size of the window per dimension.
      allow_negative_indices: whether a negative start counts from the end (once); one value, or
        one per dimension. False saves the operations that ask.

    Returns:
      Array of shape `slice_sizes`.

    Raises:
      TypeError: a size exceeds the operand, or the indices are not integers of one dtype.
      ValueError: the number of indices differs from the operand's rank.

    Example:
      >>> lax.dynamic_slice(np.arange(5), (4,), (3,)).tolist()
      [2, 3, 4]
    """
    sizes = as_sizes(slice_sizes)
    starts = canonical_starts(
        "dynamic_slice", typeof(operand).shape, start_indices, sizes, allow_negative_indices
    )
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_slice_in_dim(
    operand: Value,
    start_index: Value,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Take a window of static size along one axis.

    Args:
      operand: array with at least one dimension.
      start_index: integer scalar; the window is moved so that it fits.
      slice_size: size of the window.
      axis: the axis.
      allow_negative_indices: whether a negative start counts from the end.

    Raises:
      TypeError: the size exceeds the axis, or the index is not an integer.

    Example:
      >>> lax.dynamic_slice_in_dim(np.arange(5), 1, 2).tolist()
      [1, 2]
    """
    shape = typeof(operand).shape
    axis = _canonical_axis("dynamic_slice_in_dim", axis, len(shape))
    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = start_index, slice_size
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@composite(static_argnames=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: Value,
    index: Value,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Take one index of an axis; the index may be traced and is clamped.

    Args:
      operand: array with at least one dimension.
      index: integer scalar.
      axis: the axis.
      keepdims: keep the axis with size 1.
      allow_negative_indices: whether a negative index counts from the end.

    Raises:
      TypeError: the index is not an integer scalar.

    Example:
      >>> lax.dynamic_index_in_dim(np.arange(5), 9, keepdims=False).tolist()
      4
    """
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return result if keepdims else _squeeze(result, axis)


def dynamic_update_slice(
    operand: Value,
    update: Value,
    start_indices: Value | Sequence[Value],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Replace a window of an array; its position may be traced.

    Args:
      operand: array of any shape and dtype.
      update: array of the operand's dtype and rank, no larger than it in any dimension.
      start_indices: one integer scalar per dimension, or an integer array of shape
        ``[operand.ndim]``. The window is moved so that it fits.
      allow_negative_indices: whether a negative start counts from the end; one value, or one per
        dimension.

    Returns:
      Array of the operand's shape.

    Raises:
      TypeError: the update's rank, size or dtype doesn't fit, or the indices are not integers.

    Example:
      >>> lax.dynamic_update_slice(np.arange(5), np.array([7, 7], np.int32), (4,)).tolist()
      [0, 1, 2, 7, 7]
    """
    starts = canonical_starts(
        "dynamic_update_slice",
        typeof(operand).shape,
        start_indices,
        typeof(update).shape,
        allow_negative_indices,
    )
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_update_slice_in_dim(
    operand: Value,
    update: Value,
    start_index: Value,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Replace a window along one axis.

    Args:
      operand: array with at least one dimension.
      update: array of the operand's rank, or a scalar when the operand has one dimension.
      start_index: integer scalar; the window is moved so that it fits.
      axis: the axis.
      allow_negative_indices: whether a negative start counts from the end.

    Raises:
      TypeError: the update doesn't fit the operand.

    Example:
      >>> x = np.zeros((2, 2), np.float32)
      >>> lax.dynamic_update_slice_in_dim(x, x[:, :1] + 1, 1, axis=1).tolist()
      [[0.0, 1.0], [0.0, 1.0]]
    """
    ndim = typeof(operand).ndim
    axis = _canonical_axis("dynamic_update_slice_in_dim", axis, ndim)
    starts = [0] * ndim
    starts[axis] = start_index
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@composite(static_argnames=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: Value,
    update: Value,
    index: Value,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Replace one index of an axis.

    Args:
      operand: array with at least one dimension.
      update: array of the operand's shape with `axis` of size 1 or left out.
      index: integer scalar, clamped.
      axis: the axis.
      allow_negative_indices: whether a negative index counts from the end.

    Raises:
      TypeError: the update doesn't fit the operand.

    Example:
      >>> x = np.zeros((2, 2), np.float32)
      >>> lax.dynamic_update_index_in_dim(x, x[0] + 1, 0, axis=0).tolist()
      [[1.0, 1.0], [0.0, 0.0]]
    """
    shape = typeof(operand).shape
    axis = _canonical_axis("dynamic_update_index_in_dim", axis, len(shape))
    update_shape = typeof(update).shape
    if len(update_shape) == len(shape) - 1:
        update = _expand(update, update_shape, axis)
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def _canonical_axis(name: str, axis: int, ndim: int) -> int:
    axis = as_int(axis)
    if not -ndim <= axis < ndim:
        raise IndexError(
            f"{name}: given axis {axis}, expected one of {-ndim} to {ndim - 1} for an operand "
            f"with {ndim} dimensions."
        )
    return axis % ndim


def _from_end(index: int, size: int) -> int:
    index = as_size(index)
    return index + size if index < 0 else index


def _squeeze(x: Value, axis: int) -> Value:
    return lax.squeeze(x, (axis % typeof(x).ndim,))


def _expand(x: Value, shape: tuple[int, ...], axis: int) -> Value:
    new_shape = (*shape[:axis], 1, *shape[axis:])
    kept = [d for d in range(len(new_shape)) if d != axis]
    return lax.broadcast_in_dim(x, new_shape, kept)
