"""Batching of ragged products: one more batch dimension, in front of the others."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.ragged_contractions import RaggedDotDimensionNumbers, ragged_dot_general_p
from tans_lax.rows import batch_to_front

type Value = Any


def _batch(
    axis: AxisData,
    args: tuple[Value, Value, Value],
    dims: tuple[int | None, ...],
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: Any,
) -> tuple[Value, int]:
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, sizes = (batch_to_front(axis, x, d) for x, d in zip(args, dims, strict=True))
    (left, right), (left_batch, right_batch) = (
        tuple(tuple(i + 1 for i in axes) for axes in pair) for pair in numbers.dot_dimension_numbers
    )
    moved = RaggedDotDimensionNumbers(
        ((left, right), ((0, *left_batch), (0, *right_batch))),
        tuple(i + 1 for i in numbers.lhs_ragged_dimensions),
        tuple(i + 1 for i in numbers.rhs_group_dimensions),
    )
    out = ragged_dot_general_p.bind(lhs, rhs, sizes, ragged_dot_dimension_numbers=moved, **params)
    (ragged,) = numbers.lhs_ragged_dimensions
    return out, int(ragged in numbers.dot_dimension_numbers[0][0])


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    ragged_dot_general_p: _batch,
}
