"""Batching of rounding and inspection of floats."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.rounding import (
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    reduce_precision_p,
    round_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        floor_p,
        ceil_p,
        round_p,
        is_finite_p,
        nextafter_p,
        reduce_precision_p,
    )
}
