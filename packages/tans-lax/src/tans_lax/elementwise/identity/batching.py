"""Batching of operations that return their operand."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.identity import copy_p, optimization_barrier_p, stage_p, stop_gradient_p
from tans_lax.rows import Rule, elementwise_batching

type Value = Any  # an array, a Python scalar or a tracer
type Dims = tuple[int | None, ...]


def _barrier_batch(axis: Any, args: tuple[Value, ...], dims: Dims) -> tuple[list[Value], Dims]:
    return optimization_barrier_p.bind(*args), dims


BATCHING: Final[dict[Primitive, Rule]] = {
    copy_p: elementwise_batching(copy_p),
    stage_p: elementwise_batching(stage_p),
    stop_gradient_p: elementwise_batching(stop_gradient_p),
    optimization_barrier_p: _barrier_batch,
}
