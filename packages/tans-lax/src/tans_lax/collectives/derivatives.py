"""Derivatives of collectives.

With x_j the value at element j and y_i the result at element i, each linear collective is a matrix
over elements, and its transpose is the collective of the transposed matrix: a sum goes to a sum, a
gather to a sum of which each element keeps its part, a permutation to its inverse.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_core.errors import message
from tans_lax.collectives import axis_index, psum
from tans_lax.collectives.casts import manual_names
from tans_lax.collectives.primitives import (
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    preduced_p,
    psum_invariant_p,
    psum_p,
    pvary_p,
    ragged_all_to_all_p,
    reduce_scatter_p,
    reduced_vary_cast_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import div, mul
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select
from tans_lax.rows import (
    instantiate_zeros,
    linear_jvp,
    linear_transpose_of,
    not_linear,
    zero_derivative,
    zeros_like_aval,
)
from tans_lax.slicing import dynamic_index_in_dim, dynamic_slice_in_dim

type Value = Any


def _extremum_jvp(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        primals: Sequence[Value], tangents: Sequence[Value], **params: Any
    ) -> tuple[Value, Value]:
        """The tangent of the extremum is the mean of the tangents of those that attain it."""
        (x,), (x_dot,) = primals, tangents
        out = primitive.bind(x, **params)
        if type(x_dot) is Zero:
            return out, zero_tangent(typeof(out))
        if manual_names(params["axes"]):
            raise NotImplementedError(
                message(
                    primitive.name,
                    f"a value of type {typeof(x).str_short()} to differentiate over the manual "
                    f"axes {params['axes']!r}",
                    "no derivative through it, which would have to communicate",
                    "Apply stop_gradient to the operand, or give the function a custom_jvp.",
                )
            )
        attained = eq(x, out)
        dtype = typeof(x_dot).dtype  # type: ignore[union-attr]
        share = select(attained, x_dot, zeros_like_aval(typeof(x_dot)))
        count = psum_p.bind(convert_element_type(attained, dtype), **params)
        return out, div(psum_p.bind(share, **params), count)

    return rule


def _psum_transpose(ct: Value, x_aval: Any, **params: Any) -> Value:
    del x_aval
    return psum_p.bind(ct, **params)


def _ppermute_transpose(ct: Value, x_aval: Any, *, axis_name: Any, perm: Any) -> Value:
    del x_aval
    inverse = tuple((destination, source) for source, destination in perm)
    return ppermute_p.bind(ct, axis_name=axis_name, perm=inverse)


def _pbroadcast_transpose(ct: Value, x_aval: Any, *, axis_name: Any, source: int) -> Value:
    here = eq(axis_index(axis_name), np.int32(source))
    total = psum(ct, axis_name)
    return select(here, total, zeros_like_aval(x_aval))


def _all_gather_transpose(
    ct: Value, x_aval: Any, *, all_gather_dimension: int, **params: Any
) -> Value:
    del x_aval
    return reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


def _reduce_scatter_transpose(
    ct: Value, x_aval: Any, *, scatter_dimension: int, **params: Any
) -> Value:
    del x_aval
    return all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


def _all_to_all_transpose(
    ct: Value, x_aval: Any, *, split_axis: int, concat_axis: int, **params: Any
) -> Value:
    del x_aval
    return all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


def _cast_transpose(inverse: Primitive) -> Callable[..., Any]:
    def rule(ct: Value, x_aval: Any, *, axes: Any) -> Value:
        del x_aval
        return inverse.bind(ct, axes=axes)

    return rule


def _gather_transpose(inverse: Primitive) -> Callable[..., Any]:
    def rule(ct: Value, x_aval: Any, *, all_gather_dimension: int, **params: Any) -> Value:
        del x_aval
        return inverse.bind(ct, scatter_dimension=all_gather_dimension, **params)

    return rule


def _scatter_transpose(inverse: Primitive) -> Callable[..., Any]:
    def rule(ct: Value, x_aval: Any, *, scatter_dimension: int, **params: Any) -> Value:
        del x_aval
        return inverse.bind(ct, all_gather_dimension=scatter_dimension, **params)

    return rule


def _invariant_gather_transpose(
    ct: Value,
    x_aval: Any,
    *,
    axis_name: Any,
    all_gather_dimension: int,
    axis_index_groups: Any,
    axis_size: int,
    tiled: bool,
) -> Value:
    """Each element takes its own part of the cotangent, which is the same on all."""
    del axis_index_groups, axis_size
    index = axis_index(axis_name)
    if not tiled:
        return dynamic_index_in_dim(ct, index, all_gather_dimension, keepdims=False)
    length = x_aval.shape[all_gather_dimension]
    start = mul(index, np.int32(length))
    return dynamic_slice_in_dim(ct, start, length, all_gather_dimension)


def _ragged_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[Value, Value]:
    out = ragged_all_to_all_p.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents[:2]):
        return out, zero_tangent(typeof(out))
    dots = [instantiate_zeros(t) for t in tangents[:2]]
    return out, ragged_all_to_all_p.bind(*dots, *primals[2:], **params)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    psum_p: linear_jvp(psum_p),
    pmax_p: _extremum_jvp(pmax_p),
    pmin_p: _extremum_jvp(pmin_p),
    ppermute_p: linear_jvp(ppermute_p),
    pbroadcast_p: linear_jvp(pbroadcast_p),
    all_gather_p: linear_jvp(all_gather_p),
    all_to_all_p: linear_jvp(all_to_all_p),
    reduce_scatter_p: linear_jvp(reduce_scatter_p),
    axis_index_p: zero_derivative(axis_index_p),
    ragged_all_to_all_p: _ragged_jvp,
    psum_invariant_p: linear_jvp(psum_invariant_p),
    unreduced_psum_p: linear_jvp(unreduced_psum_p),
    pvary_p: linear_jvp(pvary_p),
    preduced_p: linear_jvp(preduced_p),
    vary_unreduced_cast_p: linear_jvp(vary_unreduced_cast_p),
    reduced_vary_cast_p: linear_jvp(reduced_vary_cast_p),
    all_gather_invariant_p: linear_jvp(all_gather_invariant_p),
    all_gather_reduced_p: linear_jvp(all_gather_reduced_p),
    unreduced_reduce_scatter_p: linear_jvp(unreduced_reduce_scatter_p),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    psum_p: linear_transpose_of(_psum_transpose),
    pmax_p: not_linear,
    pmin_p: not_linear,
    ppermute_p: linear_transpose_of(_ppermute_transpose),
    pbroadcast_p: linear_transpose_of(_pbroadcast_transpose),
    all_gather_p: linear_transpose_of(_all_gather_transpose),
    all_to_all_p: linear_transpose_of(_all_to_all_transpose),
    reduce_scatter_p: linear_transpose_of(_reduce_scatter_transpose),
    axis_index_p: not_linear,
    ragged_all_to_all_p: not_linear,
    psum_invariant_p: linear_transpose_of(_cast_transpose(pvary_p)),
    unreduced_psum_p: linear_transpose_of(_cast_transpose(preduced_p)),
    pvary_p: linear_transpose_of(_cast_transpose(psum_invariant_p)),
    preduced_p: linear_transpose_of(_cast_transpose(unreduced_psum_p)),
    vary_unreduced_cast_p: linear_transpose_of(_cast_transpose(reduced_vary_cast_p)),
    reduced_vary_cast_p: linear_transpose_of(_cast_transpose(vary_unreduced_cast_p)),
    all_gather_invariant_p: linear_transpose_of(_invariant_gather_transpose),
    all_gather_reduced_p: linear_transpose_of(_gather_transpose(unreduced_reduce_scatter_p)),
    unreduced_reduce_scatter_p: linear_transpose_of(_scatter_transpose(all_gather_reduced_p)),
}
