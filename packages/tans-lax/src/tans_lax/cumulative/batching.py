"""Batching of cumulative reductions: the axis moves past the mapped dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p

type Value = Any


def _cumulative_batching(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        mapped: AxisData, args: tuple[Value], dims: tuple[int], *, axis: int, reverse: bool
    ) -> tuple[Value, int]:
        del mapped
        (dim,) = dims
        return primitive.bind(args[0], axis=axis + (axis >= dim), reverse=reverse), dim

    return rule


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    cumsum_p: _cumulative_batching(cumsum_p),
    cumprod_p: _cumulative_batching(cumprod_p),
    cummax_p: _cumulative_batching(cummax_p),
    cummin_p: _cumulative_batching(cummin_p),
    cumlogsumexp_p: _cumulative_batching(cumlogsumexp_p),
}
