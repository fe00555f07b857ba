"""Batching of powers and roots."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.powers import (
    cbrt_p,
    integer_pow_p,
    one_minus_square_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        square_p,
        integer_pow_p,
        pow_p,
        sqrt_p,
        rsqrt_p,
        cbrt_p,
        one_minus_square_p,
    )
}
