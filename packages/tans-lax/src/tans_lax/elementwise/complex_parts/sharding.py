"""Sharding rules of the complex parts operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.complex_parts import (
    complex_p,
    conj_p,
    imag_p,
    real_p,
)
from tans_lax.propagation import Rule, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    real_p: unary,
    imag_p: unary,
    complex_p: nary,
    conj_p: unary,
}
