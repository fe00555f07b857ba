"""Sharding rules of the arithmetic operations."""

from typing import Final

from tans_core.primitive import Primitive
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
from tans_lax.propagation import Rule, additive, linear_unary, multiplicative, nary, quotient, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    neg_p: linear_unary,
    sign_p: unary,
    abs_p: unary,
    add_p: additive,
    sub_p: additive,
    mul_p: multiplicative,
    div_p: quotient,
    rem_p: nary,
    max_p: nary,
    min_p: nary,
    add_any_p: additive,
}
