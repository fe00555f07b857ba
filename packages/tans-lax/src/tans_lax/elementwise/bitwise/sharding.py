"""Sharding rules of the bitwise operations."""

from typing import Final

from tans_core.primitive import Primitive
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
from tans_lax.propagation import Rule, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    not_p: unary,
    and_p: nary,
    or_p: nary,
    xor_p: nary,
    shift_left_p: nary,
    shift_right_arithmetic_p: nary,
    shift_right_logical_p: nary,
    population_count_p: unary,
    clz_p: unary,
    mulhi_p: nary,
}
