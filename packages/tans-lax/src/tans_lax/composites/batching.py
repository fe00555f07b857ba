"""Batching of named operations: the decomposition, mapped, without a name."""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_core import AxisData, ClosedJaxpr, Primitive
from tans_core.context import BatchContext
from tans_core.jaxpr import eval_closed
from tans_core.rules import ContextRule
from tans_lax.composites import composite_p
from tans_lax.composites.platforms import platform_index_p

type Value = Any


def _composite_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[int | None],
    *,
    call_jaxpr: ClosedJaxpr,
    **_: Any,
) -> tuple[list[Value], Sequence[int | None]]:
    body, dims_out = ctx.batch_jaxpr(call_jaxpr, axis, tuple(dims))
    return eval_closed(body, *args), dims_out


def _platform_index_batch(*_: Any, **params: Any) -> NoReturn:
    raise AssertionError(f"platform_index has no operands to map: {params}")


BATCHING: Final[dict[Primitive, Any]] = {
    composite_p: ContextRule(_composite_batch),
    platform_index_p: _platform_index_batch,
}
