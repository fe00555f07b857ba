"""Derivatives of sorting: tangents follow the permutation that the keys decide."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.rows import not_linear
from tans_lax.sorting import sort_p, top_k_p

type Value = Any


def take_along(x: Value, indices: Value, axis: int) -> Value:
    """Pick elements of `x` along `axis`, separately for each position of the other axes.

    Args:
      x: any shape.
      indices: int array of x's shape except along `axis`; in bounds, no index twice in one line.
      axis: the axis that is indexed.
    """
    shape = typeof(indices).shape
    if 0 in shape:  # nothing to read, which gather refuses
        return lax.slice_in_dim(x, 0, shape[axis], axis=axis)
    others = tuple(d for d in range(len(shape)) if d != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return lax.gather(
        x,
        lax.reshape(indices, (*shape, 1)),
        dimension_numbers=numbers,
        slice_sizes=(1,) * len(shape),
        unique_indices=True,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _sort_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], *, dimension: int, **params: Any
) -> tuple[list[Value], list[Value]]:
    if all(type(t) is Zero for t in tangents):
        outs = sort_p.bind(*primals, dimension=dimension, **params)
        return outs, [zero_tangent(typeof(out)) for out in outs]
    shape = typeof(primals[0]).shape
    positions = lax.broadcasted_iota(np.dtype("int32"), shape, dimension)
    *outs, order = sort_p.bind(*primals, positions, dimension=dimension, **params)
    dots = [t if type(t) is Zero else take_along(t, order, dimension) for t in tangents]
    return outs, dots


def _top_k_jvp(
    primals: tuple[Value], tangents: tuple[Value], *, axis: int, **params: Any
) -> tuple[list[Value], list[Value]]:
    values, indices = top_k_p.bind(*primals, axis=axis, **params)
    (t,) = tangents
    no_dot = zero_tangent(typeof(indices))
    if type(t) is Zero:
        return [values, indices], [zero_tangent(typeof(values)), no_dot]
    return [values, indices], [take_along(t, indices, axis), no_dot]


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    sort_p: _sort_jvp,
    top_k_p: _top_k_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    sort_p: not_linear,
    top_k_p: not_linear,
}
