"""Batching of polynomials."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.polynomials import polynomial_p
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {polynomial_p: elementwise_batching(polynomial_p)}
