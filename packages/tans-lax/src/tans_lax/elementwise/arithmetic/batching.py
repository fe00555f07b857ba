"""Batching of the arithmetic operations."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import (
    abs_p,
    add_any_p,
    add_p,
    div_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    sub_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        neg_p,
        sign_p,
        abs_p,
        add_p,
        sub_p,
        mul_p,
        div_p,
        rem_p,
        max_p,
        min_p,
        add_any_p,
    )
}
