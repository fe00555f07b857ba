"""Lowering of operations that return their operand."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_lax.elementwise.identity import copy_p, optimization_barrier_p, stage_p, stop_gradient_p
from tans_xla import hlo


def _identity_lower(ctx: Any, x: IrValue) -> IrValue:
    del ctx
    return x


def _barrier_lower(ctx: Any, *operands: IrValue) -> list[IrValue]:
    if not operands:
        return []
    return list(hlo.op("stablehlo.optimization_barrier", ctx.result_types, operands).results)


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    copy_p: _identity_lower,
    stage_p: _identity_lower,
    stop_gradient_p: _identity_lower,
    optimization_barrier_p: _barrier_lower,
}
