"""Sharding rule of the Bessel function."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.bessel import bessel_i0e_p
from tans_lax.propagation import Rule, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    bessel_i0e_p: unary,
}
