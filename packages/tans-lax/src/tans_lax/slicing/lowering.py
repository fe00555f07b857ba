"""StableHLO of slices: one operation each."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Primitive
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p
from tans_xla import hlo, hlo_parts

type IrValue = Any


def _slice_lower(
    ctx: Any,
    x: IrValue,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> IrValue:
    return hlo_parts.slice_between(x, ctx.avals_out[0], start_indices, limit_indices, strides)


def _dynamic_slice_lower(
    ctx: Any, x: IrValue, *indices: IrValue, slice_sizes: tuple[int, ...]
) -> IrValue:
    starts = _with_trailing(ctx, indices, len(slice_sizes), 1)
    return hlo_parts.slice_at(x, ctx.avals_in[0], starts, slice_sizes, ctx.result_type)


def _dynamic_update_slice_lower(
    ctx: Any, x: IrValue, update: IrValue, *indices: IrValue
) -> IrValue:
    rank = len(x.type.shape)
    operands = [x, update, *_with_trailing(ctx, indices, rank, 2)]
    return hlo.op1("stablehlo.dynamic_update_slice", ctx.result_types[0], operands)


def _with_trailing(
    ctx: Any, indices: Sequence[IrValue], rank: int, first: int
) -> Sequence[IrValue]:
    """Index the trailing dimensions that keys have in their physical form by 0."""
    missing = rank - len(indices)
    if not missing or not indices:
        return indices
    return [*indices, *[hlo.zeros(ctx.avals_in[first])] * missing]


LOWERING: Final[dict[Primitive, Callable[..., IrValue]]] = {
    slice_p: _slice_lower,
    dynamic_slice_p: _dynamic_slice_lower,
    dynamic_update_slice_p: _dynamic_update_slice_lower,
}
