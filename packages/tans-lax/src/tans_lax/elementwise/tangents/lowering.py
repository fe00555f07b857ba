"""Lowering of products of a tangent with a slope."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule, spread
from tans_lax.elementwise.tangents import div_tangent_p, mul_tangent_p
from tans_xla import hlo


def _unless_zero(name: str) -> LoweringRule:
    def rule(ctx: Any, t: IrValue, slope: IrValue) -> IrValue:
        t, slope = spread(ctx, (t, slope))
        zero = hlo.compare(t, hlo.zeros(ctx.avals_out[0]), "EQ", "FLOAT")
        return hlo.select(zero, t, hlo.op1(name, ctx.result_type, [t, slope]))

    return rule


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    mul_tangent_p: _unless_zero("stablehlo.multiply"),
    div_tangent_p: _unless_zero("stablehlo.divide"),
}
