"""Sharding rules of the tangents operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.tangents import (
    div_tangent_p,
    mul_tangent_p,
)
from tans_lax.propagation import Rule, multiplicative, quotient

SHARDING: Final[dict[Primitive, Rule]] = {
    mul_tangent_p: multiplicative,
    div_tangent_p: quotient,
}
