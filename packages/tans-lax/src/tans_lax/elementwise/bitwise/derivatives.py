"""Derivatives of operations on bits: none, their values are integers or booleans."""

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
from tans_lax.rows import Rule, not_linear, zero_derivative

_ALL: Final = (
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

JVP: Final[dict[Primitive, Rule]] = {p: zero_derivative(p) for p in _ALL}

TRANSPOSE: Final[dict[Primitive, Rule]] = dict.fromkeys(_ALL, not_linear)
