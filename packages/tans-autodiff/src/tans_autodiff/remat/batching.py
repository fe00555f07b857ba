"""Batching of checkpointed calls."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_core.context import AxisData, BatchContext
from tans_core.rules import ContextRule
from tans_lax.rows import elementwise_batching


def _remat_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: Any,
    **params: Any,
) -> tuple[list[Any], Sequence[int | None]]:
    body, dims_out = ctx.batch_jaxpr(jaxpr, axis, tuple(dims))
    return remat_p.bind(*args, jaxpr=body, **params), dims_out


BATCHING: Final = {
    remat_p: ContextRule(_remat_batch),
    name_p: elementwise_batching(name_p),
    phase_p: elementwise_batching(phase_p),
}
