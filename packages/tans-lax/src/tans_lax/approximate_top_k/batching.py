"""Batching of the approximate search: the dimension moves past the mapped one."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive, typeof
from tans_lax.approximate_top_k import approx_top_k_p

type Value = Any


def _approx_top_k_batch(
    axis: AxisData,
    args: tuple[Value],
    dims: tuple[int],
    *,
    reduction_dimension: int,
    **params: Any,
) -> tuple[list[Value], list[int]]:
    del axis
    (x,), (dim,) = args, dims
    searched = reduction_dimension % (typeof(x).ndim - 1)
    outs = approx_top_k_p.bind(x, reduction_dimension=searched + (searched >= dim), **params)
    return outs, [dim, dim]


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    approx_top_k_p: _approx_top_k_batch,
}
