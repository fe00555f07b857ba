"""Batching of linear maps: every linear operand and result is mapped, so that transposes agree."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.linear_maps import custom_linear_solve_p, linear_call_p
from tans_core.context import AxisData, BatchContext
from tans_core.rules import ContextRule
from tans_lax.rows import batch_to_front

type Value = Any
type Dims = Sequence[int | None]


def _all_mapped(
    ctx: BatchContext, body: Any, axis: AxisData, residual_dims: Dims, count: int
) -> Any:
    """Batch ``(*residuals, *linear) -> outs`` with linear inputs and results mapped in front."""
    zeros = (0,) * count
    outs = (0,) * len(body.out_avals)
    return ctx.batch_jaxpr(body, axis, (*residual_dims, *zeros), outs)[0]


def _linear_call_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    jaxpr: Any,
    transpose: Any,
    num_res: int,
) -> tuple[list[Value], Dims]:
    residual_dims, linear = dims[:num_res], args[num_res:]
    count = len(jaxpr.out_avals)
    outs = linear_call_p.bind(
        *args[:num_res],
        *[batch_to_front(axis, x, d) for x, d in zip(linear, dims[num_res:], strict=True)],
        jaxpr=_all_mapped(ctx, jaxpr, axis, residual_dims, len(linear)),
        transpose=_all_mapped(ctx, transpose, axis, residual_dims, count),
        num_res=num_res,
    )
    return outs, [0] * count


def _solve_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    matvec: Any,
    solve: Any,
    transpose_solve: Any,
    lengths: tuple[int, int, int],
) -> tuple[list[Value], Dims]:
    m, s, t = lengths
    b = m + s + t
    count = len(args) - b
    mapped = [batch_to_front(axis, x, d) for x, d in zip(args[b:], dims[b:], strict=True)]
    transposed = None
    if transpose_solve is not None:
        transposed = _all_mapped(ctx, transpose_solve, axis, dims[m + s : b], count)
    outs = custom_linear_solve_p.bind(
        *args[:b],
        *mapped,
        matvec=_all_mapped(ctx, matvec, axis, dims[:m], count),
        solve=_all_mapped(ctx, solve, axis, dims[m : m + s], count),
        transpose_solve=transposed,
        lengths=lengths,
    )
    return outs, [0] * len(outs)


BATCHING: Final = {
    linear_call_p: ContextRule(_linear_call_batch),
    custom_linear_solve_p: ContextRule(_solve_batch),
}
