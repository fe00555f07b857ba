"""Batching of sorting: the dimension moves past the mapped one."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive, typeof
from tans_lax.rows import batch_to_front, broadcast_batch, move_axis
from tans_lax.sorting import sort_p, top_k_p

type Value = Any


def _sort_batch(
    axis: AxisData,
    args: tuple[Value, ...],
    dims: tuple[int | None, ...],
    *,
    dimension: int,
    **params: Any,
) -> tuple[list[Value], list[int]]:
    target = next(d for d in dims if d is not None)
    operands = [
        broadcast_batch(x, axis, target) if d is None else move_axis(x, d, target)
        for x, d in zip(args, dims, strict=True)
    ]
    outs = sort_p.bind(*operands, dimension=dimension + (dimension >= target), **params)
    return outs, [target] * len(outs)


def _top_k_batch(
    mapped: AxisData, args: tuple[Value], dims: tuple[int], *, axis: int, **params: Any
) -> tuple[list[Value], list[int]]:
    (operand,), (dim,) = args, dims
    if dim == axis + 1 == typeof(operand).ndim - 1:
        # The last axis is the cheapest to search, so an axis that was last stays last.
        operand, dim = batch_to_front(mapped, operand, dim), 0
    outs = top_k_p.bind(operand, axis=axis + (axis >= dim), **params)
    return outs, [dim, dim]


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    sort_p: _sort_batch,
    top_k_p: _top_k_batch,
}
