"""Picking rows and columns of stacked matrices by stacked permutations."""

from typing import Any

from tans_core import typeof
from tans_lax.creation import full
from tans_lax.gather_scatter import GatherDimensionNumbers, GatherScatterMode, gather
from tans_lax.linalg.matrices import transposed
from tans_lax.shape import expand_dims

type Value = Any


def take_rows(x: Value, indices: Value) -> Value:
    """Return ``x[..., indices, :]``, separately for each problem.

    Args:
      x: ``[*batch, m, n]``.
      indices: ``[*batch, k]`` distinct integers below `m`.

    Returns:
      ``[*batch, k, n]``.
    """
    aval = typeof(x)
    ndim = aval.ndim
    if aval.size == 0:
        shape = (*typeof(indices).shape, aval.shape[-1])
        return full(shape, 0, aval.dtype)
    batch = tuple(range(ndim - 2))
    numbers = GatherDimensionNumbers(
        offset_dims=(ndim - 1,),
        collapsed_slice_dims=(ndim - 2,),
        start_index_map=(ndim - 2,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )
    return gather(
        x,
        expand_dims(indices, (ndim - 1,)),
        dimension_numbers=numbers,
        slice_sizes=(1,) * (ndim - 1) + (aval.shape[-1],),
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def take_columns(x: Value, indices: Value) -> Value:
    """Return ``x[..., :, indices]``, separately for each problem."""
    return transposed(take_rows(transposed(x), indices))
