"""Batching: the tags stay."""

from collections.abc import Sequence
from typing import Any, Final

from tans_compiler.operation_tags import xla_metadata_call_p, xla_metadata_value_p
from tans_compiler.operation_tags.derivatives import bind_body
from tans_core.context import AxisData, BatchContext
from tans_core.rules import ContextRule

type Value = Any


def _call_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[int | None],
    **params: Any,
) -> tuple[list[Value], Sequence[int | None]]:
    body, dims_out = ctx.batch_jaxpr(params["jaxpr"], axis, tuple(dims))
    return bind_body(body, args, params), dims_out


def _value_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], **params: Any
) -> tuple[Value, int | None]:
    del axis
    return xla_metadata_value_p.bind(*args, **params), dims[0]


BATCHING: Final = {
    xla_metadata_call_p: ContextRule(_call_batch),
    xla_metadata_value_p: _value_batch,
}
