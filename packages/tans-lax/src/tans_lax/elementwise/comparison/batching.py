"""Batching of comparisons."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.comparison import (
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    ne_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        eq_p,
        ne_p,
        lt_p,
        le_p,
        gt_p,
        ge_p,
        eq_to_p,
        lt_to_p,
        le_to_p,
    )
}
