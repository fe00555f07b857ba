"""Derivatives of arrays made from a shape: they have no operands."""

from typing import Final

from tans_core import Primitive
from tans_lax.creation import empty_p, iota_p
from tans_lax.rows import Rule, not_linear, zero_derivative

JVP: Final[dict[Primitive, Rule]] = {
    iota_p: zero_derivative(iota_p),
    empty_p: zero_derivative(empty_p),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    iota_p: not_linear,
    empty_p: not_linear,
}
