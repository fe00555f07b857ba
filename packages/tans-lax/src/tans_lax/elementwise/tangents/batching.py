"""Batching of products of a tangent with a slope."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.tangents import div_tangent_p, mul_tangent_p
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p) for p in (mul_tangent_p, div_tangent_p)
}
