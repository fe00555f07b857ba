"""Sharding rule of polynomials."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.polynomials import polynomial_p
from tans_lax.propagation import Rule, nary

SHARDING: Final[dict[Primitive, Rule]] = {polynomial_p: nary}
