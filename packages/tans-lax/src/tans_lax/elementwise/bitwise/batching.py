"""Batching of bitwise operations."""

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
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        not_p,
        and_p,
        or_p,
        xor_p,
        shift_left_p,
        shift_right_arithmetic_p,
        shift_right_logical_p,
        population_count_p,
        clz_p,
        mulhi_p,
    )
}
