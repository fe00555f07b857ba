"""Gathers: windows read at places given by index vectors."""

from collections.abc import Sequence
from typing import Any, Final

import tans_lax as lax
from tans_core import typeof
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    default_fill_value,
)
from tans_lax.gather_scatter.primitives import gather_p
from tans_lax.sizes import size_vector
from tans_xla.sizes import as_sizes

type Value = Any  # an array, a Python scalar or a tracer
type Mode = str | GatherScatterMode | None

_PROMISE: Final = GatherScatterMode.PROMISE_IN_BOUNDS


def gather(
    operand: Value,
    start_indices: Value,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Any = None,
) -> Value:
    """Read windows of an array at places given by index vectors.

    Args:
      operand: array of any shape and dtype; a weak type is kept.
      start_indices: integers of shape ``[*batch, k]``: one index vector per window.
      dimension_numbers: how windows and index vectors are laid out.
      slice_sizes: the window's size per dimension of the operand.
      unique_indices: promise that no element is read twice.
      indices_are_sorted: promise that the index vectors ascend.
      mode: what happens to windows out of bounds; None promises that there are none (and moves
        them inside).
      fill_value: scalar for windows out of bounds in the mode that fills; None is nan, the lowest
        signed, the highest unsigned integer, or True.

    Returns:
      Array of the batch dimensions and, at `offset_dims`, those of the window.

    Raises:
      TypeError: shapes or dimension numbers don't fit together.
      ValueError: unknown mode, or indices that are not integers.

    Example:
      >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
      >>> lax.gather(np.arange(5) * 10, np.array([[1], [3]]), numbers, (1,)).tolist()
      [10, 30]
    """
    mode = _PROMISE if mode is None else GatherScatterMode.from_any(mode)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill_value(typeof(operand).dtype)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        fill_value=fill_value,
        indices_are_sorted=indices_are_sorted,
        mode=mode,
        slice_sizes=as_sizes(slice_sizes),
        unique_indices=unique_indices,
    )


def index_take(src: Value, idxs: Sequence[Value], axes: Sequence[int]) -> Value:
    """Take elements along some axes by one index array per axis, wrapped into range.

    Args:
      src: array of any shape.
      idxs: integer arrays of shape ``[n]``, one per axis.
      axes: the axes, as many as there are index arrays.

    Returns:
      Array of shape ``[n, *rest]``, where `rest` are the other axes.

    Raises:
      TypeError: the indices are not integer vectors.

    Example:
      >>> x = np.arange(6).reshape(2, 3)
      >>> lax.index_take(x, (np.array([0, 1]), np.array([2, -1])), (0, 1)).tolist()
      [2, 5]
    """
    shape = typeof(src).shape
    columns = [lax.broadcast_in_dim(i, (*typeof(i).shape, 1), (0,)) for i in idxs]
    indices = columns[0] if len(columns) == 1 else lax.concatenate(columns, 1)
    dtype = typeof(indices).dtype
    vector = size_vector([shape[a] for a in axes], dtype)
    sizes = lax.broadcast_in_dim(vector, typeof(indices).shape, (1,))
    # The remainder has the sign of the index: adding the size first and last makes it positive.
    indices = lax.rem(lax.add(lax.rem(indices, sizes), sizes), sizes)
    rest = len(shape) - len(axes)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, 1 + rest)),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=tuple(axes),
    )
    sizes_of_window = tuple(1 if d in axes else n for d, n in enumerate(shape))
    return gather(src, indices, numbers, sizes_of_window)
