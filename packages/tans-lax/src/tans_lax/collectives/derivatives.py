"""Derivatives of collectives.

With x_j the value at element j and y_i the result at element i, each linear collective is a matrix
over elements, and its transpose is the collective of the transposed matrix: a sum goes to a sum, a
gather to a sum of which each element keeps its part, a permutation to its inverse.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum,
    psum_p,
    reduce_scatter_p,
)
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import div
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select
from tans_lax.rows import (
    linear_jvp,
    linear_transpose_of,
    not_linear,
    zero_derivative,
    zeros_like_aval,
)

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
}
