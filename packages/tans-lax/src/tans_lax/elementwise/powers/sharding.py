"""Sharding rules of the powers operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.powers import (
    cbrt_p,
    integer_pow_p,
    one_minus_square_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from tans_lax.propagation import Rule, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    square_p: unary,
    integer_pow_p: unary,
    pow_p: nary,
    sqrt_p: unary,
    rsqrt_p: unary,
    cbrt_p: unary,
    one_minus_square_p: unary,
}
