"""Sharding rules of the comparison operations."""

from typing import Final

from tans_core.primitive import Primitive
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
from tans_lax.propagation import Rule, nary

SHARDING: Final[dict[Primitive, Rule]] = {
    eq_p: nary,
    ne_p: nary,
    lt_p: nary,
    le_p: nary,
    gt_p: nary,
    ge_p: nary,
    eq_to_p: nary,
    lt_to_p: nary,
    le_to_p: nary,
}
