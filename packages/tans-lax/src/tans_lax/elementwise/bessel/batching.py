"""Batching of the Bessel function."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.bessel import bessel_i0e_p
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {bessel_i0e_p: elementwise_batching(bessel_i0e_p)}
