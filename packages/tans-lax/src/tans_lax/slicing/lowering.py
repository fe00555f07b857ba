"""StableHLO of slices: one operation each."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Primitive
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p
from tans_xla import hlo

type IrValue = Any


def _slice_lower(
    ctx: Any,
    x: IrValue,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> IrValue:
    steps = (1,) * len(start_indices) if strides is None else strides
    attributes = {
        "start_indices": hlo.i64s(start_indices),
        "limit_indices": hlo.i64s(limit_indices),
        "strides": hlo.i64s(steps),
    }
    return hlo.op1("stablehlo.slice", ctx.result_types[0], [x], attributes)


def _dynamic_slice_lower(
    ctx: Any, x: IrValue, *indices: IrValue, slice_sizes: tuple[int, ...]
) -> IrValue:
    operands = [x, *_with_trailing(ctx, indices, len(slice_sizes), 1)]
    attributes = {"slice_sizes": hlo.i64s(slice_sizes)}
    return hlo.op1("stablehlo.dynamic_slice", ctx.result_types[0], operands, attributes)


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
