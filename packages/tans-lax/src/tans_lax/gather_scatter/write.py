"""Scatters: windows written to places given by index vectors, or combined with what is there."""

from collections.abc import Callable, Sequence
from typing import Any

import tans_lax as lax
from tans_core import ShapedArray, trace_to_jaxpr, typeof
from tans_lax.gather_scatter.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from tans_lax.gather_scatter.primitives import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)

type Value = Any  # an array, a Python scalar or a tracer
type Mode = str | GatherScatterMode | None


def _scatter_params(
    numbers: ScatterDimensionNumbers, indices_are_sorted: bool, unique_indices: bool, mode: Mode
) -> dict[str, Any]:
    """Return the parameters; the primitive says how values combine unless there is a jaxpr."""
    return {
        "dimension_numbers": numbers,
        "indices_are_sorted": indices_are_sorted,
        "mode": GatherScatterMode.from_any(mode),
        "unique_indices": unique_indices,
        "update_consts": (),
        "update_jaxpr": None,
    }


def scatter(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Write windows into an array.

    Args:
      operand: array of any shape; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type. Which write lasts where several meet is unspecified.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter(x, i, x[2:], numbers).tolist()
      [0.0, 3.0, 2.0, 3.0]
    """
    return scatter_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_add(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Add windows to an array; windows that meet add up.

    Args:
      operand: array of any shape and a numeric dtype; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_add(x, i, x[2:], numbers).tolist()
      [0.0, 6.0, 2.0, 3.0]
    """
    return scatter_add_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_sub(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Subtract windows from an array; windows that meet all count.

    Args:
      operand: array of any shape and a numeric dtype; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_sub(x, i, x[2:], numbers).tolist()
      [0.0, -4.0, 2.0, 3.0]
    """
    return scatter_sub_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_mul(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Multiply an array by windows; windows that meet all count.

    Args:
      operand: array of any shape and a numeric dtype; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_mul(x, i, x[2:], numbers).tolist()
      [0.0, 6.0, 2.0, 3.0]
    """
    return scatter_mul_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_min(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Write the minimum of an array and windows; windows that meet all count.

    Args:
      operand: array of any shape; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_min(x, i, x[2:], numbers).tolist()
      [0.0, 1.0, 2.0, 3.0]
    """
    return scatter_min_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_max(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Write the maximum of an array and windows; windows that meet all count.

    Args:
      operand: array of any shape; a weak type is kept.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      updates: array of the operand's dtype that holds the windows.
      dimension_numbers: how windows and index vectors are laid out.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is written twice.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type.

    Raises:
      TypeError: shapes, dtypes or dimension numbers don't fit together.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(4, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_max(x, i, x[2:], numbers).tolist()
      [0.0, 3.0, 2.0, 3.0]
    """
    return scatter_max_p.bind(
        operand,
        scatter_indices,
        updates,
        **_scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode),
    )


def scatter_apply(
    operand: Value,
    scatter_indices: Value,
    func: Callable[[Value], Value],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Value:
    """Apply a function to the elements of windows, once for each window that holds an element.

    Args:
      operand: array of any shape and dtype.
      scatter_indices: integers of shape ``[*batch, k]``: one index vector per window.
      func: maps a scalar of the operand's dtype to one of the same dtype.
      dimension_numbers: how windows and index vectors are laid out.
      update_shape: shape that updates would have: batch dimensions and those of the window.
      indices_are_sorted: promise that the index vectors ascend.
      unique_indices: promise that no element is in two windows.
      mode: what happens to windows out of bounds; None drops them.

    Returns:
      Array of the operand's type. It has no derivative.

    Raises:
      TypeError: shapes or dimension numbers don't fit together, or `func` changes the dtype.
      ValueError: unknown mode.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.arange(3, dtype=np.float32), np.array([[1], [1]])
      >>> lax.scatter_apply(x, i, lambda v: v + v, numbers, update_shape=(2,)).tolist()
      [0.0, 4.0, 2.0]
    """
    aval = typeof(operand)
    scalar = ShapedArray((), aval.dtype)
    body = trace_to_jaxpr(lambda x, _: [func(x)], [scalar, scalar])
    given = body.out_avals[0]
    if given.shape != () or given.dtype != aval.dtype:
        raise TypeError(
            f"scatter_apply: func returned {given.str_short()}, expected {scalar.str_short()}, the "
            "element type of the operand. Convert its result with astype."
        )
    params = _scatter_params(dimension_numbers, indices_are_sorted, unique_indices, mode)
    params["update_jaxpr"] = body
    updates = lax.full(tuple(update_shape), 0, aval.dtype)
    return scatter_p.bind(operand, scatter_indices, updates, **params)
