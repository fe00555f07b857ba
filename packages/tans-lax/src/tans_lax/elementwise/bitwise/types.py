"""Type rules of operations on bits."""

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
from tans_lax.elementwise.signatures import BITS, INTEGER, TypeRule, nary, unary

TYPES: Final[dict[Primitive, TypeRule]] = {
    not_p: unary("bitwise_not", BITS),
    and_p: nary("bitwise_and", BITS, promoting="bitwise_and"),
    or_p: nary("bitwise_or", BITS, promoting="bitwise_or"),
    xor_p: nary("bitwise_xor", BITS, promoting="bitwise_xor"),
    shift_left_p: nary("shift_left", INTEGER, promoting="left_shift"),
    shift_right_arithmetic_p: nary("shift_right_arithmetic", INTEGER, promoting="right_shift"),
    shift_right_logical_p: nary("shift_right_logical", INTEGER),
    population_count_p: unary("population_count", INTEGER),
    clz_p: unary("clz", INTEGER),
    mulhi_p: nary("mulhi", INTEGER),
}
