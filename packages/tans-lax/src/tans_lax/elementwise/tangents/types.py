"""Type rules of products of a tangent with a slope."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.signatures import INEXACT, TypeRule, nary
from tans_lax.elementwise.tangents import div_tangent_p, mul_tangent_p

TYPES: Final[dict[Primitive, TypeRule]] = {
    mul_tangent_p: nary("mul_tangent", INEXACT),
    div_tangent_p: nary("div_tangent", INEXACT),
}
