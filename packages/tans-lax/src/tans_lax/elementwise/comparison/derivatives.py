"""Derivatives of comparisons: none, their values are booleans."""

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
from tans_lax.rows import Rule, not_linear, zero_derivative

_ALL: Final = (eq_p, ne_p, lt_p, le_p, gt_p, ge_p, eq_to_p, lt_to_p, le_to_p)

JVP: Final[dict[Primitive, Rule]] = {p: zero_derivative(p) for p in _ALL}

TRANSPOSE: Final[dict[Primitive, Rule]] = dict.fromkeys(_ALL, not_linear)
