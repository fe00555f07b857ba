"""Sharding rules of the rounding operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.rounding import (
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    reduce_precision_p,
    round_p,
)
from tans_lax.propagation import Rule, linear_unary, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    floor_p: unary,
    ceil_p: unary,
    round_p: unary,
    is_finite_p: unary,
    nextafter_p: nary,
    reduce_precision_p: linear_unary,
}
