"""Batching of a nested jit: a call of the batched body."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData, BatchContext
from tans_core.rules import ContextRule
from tans_xla.jit.derivatives import bind_body
from tans_xla.jit.primitive import jit_p

type Value = Any


def _jit_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[int | None],
    **params: Any,
) -> tuple[list[Value], Sequence[int | None]]:
    body, dims_out = ctx.batch_jaxpr(params["jaxpr"], axis, tuple(dims))
    # A sharding given for one element says nothing about the whole array.
    ins = [s if d is None else None for s, d in zip(params["in_shardings"], dims, strict=True)]
    outs = [
        s if d is None else None for s, d in zip(params["out_shardings"], dims_out, strict=True)
    ]
    return bind_body(jit_p.bind, body, args, params, ins, outs), dims_out


BATCHING: Final = {jit_p: ContextRule(_jit_batch)}
