"""`ragged_all_to_all`: exchanges of parts of different lengths along a named axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core import typeof
from tans_core.dtype_queries import issubdtype
from tans_core.errors import message
from tans_lax.collectives.casts import as_varying, checked_names
from tans_lax.collectives.groups import canonical_groups
from tans_lax.collectives.names import AxisNames, axis_size, distinct_names
from tans_lax.collectives.primitives import ragged_all_to_all_p

type Value = Any


def ragged_all_to_all(
    operand: Value,
    output: Value,
    input_offsets: Value,
    send_sizes: Value,
    output_offsets: Value,
    recv_sizes: Value,
    *,
    axis_name: AxisNames,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Value:
    """Send slices of different lengths of dimension 0 to the elements of a named axis.

    Args:
      operand: array whose slices are sent, shape [n, ...].
      output: array into which received slices are written, shape [m, ...], dtype of `operand`.
      input_offsets: where each slice starts in `operand`; integers, shape [axis size].
      send_sizes: the length of each slice; shape [axis size].
      output_offsets: where each slice goes in the receiver's `output`; shape [axis size].
      recv_sizes: the length of the slice from each element; shape [axis size].
      axis_name: a bound name.
      axis_index_groups: partition of the axis.

    Returns:
      Array like `output`.

    Raises:
      NameError: the name is not bound here.
      ValueError: dtypes or shapes do not fit together.
    """
    names = distinct_names("ragged_all_to_all", axis_name)
    size = axis_size(axis_name)
    groups = canonical_groups("ragged_all_to_all", axis_index_groups, size)
    _check_arrays(operand, output)
    indices = (input_offsets, send_sizes, output_offsets, recv_sizes)
    for x in indices:
        _check_indices(x, indices[0])
    args = (operand, output, *indices)
    if checked := checked_names(names):
        args = tuple(as_varying("ragged_all_to_all", x, checked) for x in args)
    return ragged_all_to_all_p.bind(*args, axis_name=names, axis_index_groups=groups)


def _check_arrays(operand: Value, output: Value) -> None:
    x, y = typeof(operand), typeof(output)
    if x.dtype != y.dtype or x.shape[1:] != y.shape[1:] or not x.ndim or not y.ndim:
        raise ValueError(
            message(
                "ragged_all_to_all",
                f"operand of type {x.str_short()} and output of type {y.str_short()}",
                "the same dtype, and the same shape apart from dimension 0",
                "Make the output with jnp.zeros((rows, *operand.shape[1:]), operand.dtype).",
            )
        )


def _check_indices(x: Value, first: Value) -> None:
    aval, shape = typeof(x), typeof(first).shape
    if not issubdtype(aval.dtype, np.integer) or aval.ndim != 1 or aval.shape != shape:
        raise ValueError(
            message(
                "ragged_all_to_all",
                f"offsets or sizes of type {aval.str_short()}",
                f"integers of shape {shape}, one dimension",
                "Pass one offset and one size per element of the axis.",
            )
        )
