"""Result types of collectives."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.errors import message
from tans_lax.collectives import primitives as p


def _same_type(x: ShapedArray, **params: Any) -> ShapedArray:
    del params
    return x


def _reduced_type(x: ShapedArray, **params: Any) -> ShapedArray:
    del params
    _check_numbers("psum, pmax or pmin", x)
    return x


def _check_numbers(where: str, x: ShapedArray) -> None:
    if not isinstance(x.dtype, np.dtype):
        raise TypeError(
            message(
                where,
                f"a value of type {x.str_short()}",
                "numbers: elements of this dtype have no sum and no order",
                "For random keys, collect them with all_gather, or derive new ones with fold_in.",
            )
        )


def _all_gather_type(
    x: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    del params
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=tuple(shape))


def _reduce_scatter_type(
    x: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    del params
    _check_numbers("psum_scatter", x)
    shape = list(x.shape)
    if tiled:
        shape[scatter_dimension] //= axis_size
    else:
        del shape[scatter_dimension]
    return x.update(shape=tuple(shape))


def _all_to_all_type(
    x: ShapedArray,
    *,
    split_axis: int,
    concat_axis: int,
    axis_size: int,
    **params: Any,
) -> ShapedArray:
    del params
    shape = list(x.shape)
    shape[split_axis] //= axis_size
    shape[concat_axis] *= axis_size
    return x.update(shape=tuple(shape))


def _axis_index_type(*, axis_name: Any) -> ShapedArray:
    del axis_name
    return ShapedArray((), np.int32)


def _ragged_type(operand: ShapedArray, output: ShapedArray, *_: Any, **params: Any) -> ShapedArray:
    del operand, params
    return output


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    p.psum_p: _reduced_type,
    p.pmax_p: _reduced_type,
    p.pmin_p: _reduced_type,
    p.ppermute_p: _same_type,
    p.pbroadcast_p: _same_type,
    p.all_gather_p: _all_gather_type,
    p.all_to_all_p: _all_to_all_type,
    p.reduce_scatter_p: _reduce_scatter_type,
    p.axis_index_p: _axis_index_type,
    p.ragged_all_to_all_p: _ragged_type,
    p.psum_invariant_p: _reduced_type,
    p.unreduced_psum_p: _reduced_type,
    p.pvary_p: _same_type,
    p.preduced_p: _same_type,
    p.vary_unreduced_cast_p: _same_type,
    p.reduced_vary_cast_p: _same_type,
    p.all_gather_invariant_p: _all_gather_type,
    p.all_gather_reduced_p: _all_gather_type,
    p.unreduced_reduce_scatter_p: _reduce_scatter_type,
}
