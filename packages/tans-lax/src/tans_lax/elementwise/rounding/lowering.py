"""Lowering of rounding and inspection of floats."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule, one_op
from tans_lax.elementwise.rounding import (
    RoundingMethod,
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    reduce_precision_p,
    round_p,
)
from tans_xla import hlo

_ROUND: Final = {
    RoundingMethod.AWAY_FROM_ZERO: "stablehlo.round_nearest_afz",
    RoundingMethod.TO_NEAREST_EVEN: "stablehlo.round_nearest_even",
}


def _round_lower(ctx: Any, x: IrValue, *, rounding_method: RoundingMethod) -> IrValue:
    return hlo.op1(_ROUND[rounding_method], ctx.result_type, [x])


def _reduce_precision_lower(
    ctx: Any, x: IrValue, *, exponent_bits: int, mantissa_bits: int
) -> IrValue:
    bits = {"exponent_bits": hlo.i32(exponent_bits), "mantissa_bits": hlo.i32(mantissa_bits)}
    return hlo.op1("stablehlo.reduce_precision", ctx.result_type, [x], bits)


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    floor_p: one_op("stablehlo.floor"),
    ceil_p: one_op("stablehlo.ceil"),
    round_p: _round_lower,
    is_finite_p: one_op("stablehlo.is_finite"),
    nextafter_p: one_op("chlo.next_after"),
    reduce_precision_p: _reduce_precision_lower,
}
