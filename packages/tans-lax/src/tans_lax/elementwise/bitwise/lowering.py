"""Lowering of operations on bits."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.bitwise import (
    and_p,
    clz_p,
    mulhi_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from tans_lax.elementwise.emit import LoweringRule, one_op

LOWERING: Final[dict[Primitive, LoweringRule]] = {
    not_p: one_op("stablehlo.not"),
    and_p: one_op("stablehlo.and"),
    or_p: one_op("stablehlo.or"),
    xor_p: one_op("stablehlo.xor"),
    shift_left_p: one_op("stablehlo.shift_left"),
    shift_right_arithmetic_p: one_op("stablehlo.shift_right_arithmetic"),
    shift_right_logical_p: one_op("stablehlo.shift_right_logical"),
    population_count_p: one_op("stablehlo.popcnt"),
    clz_p: one_op("stablehlo.count_leading_zeros"),
    mulhi_p: one_op("chlo.mulhi"),
}
