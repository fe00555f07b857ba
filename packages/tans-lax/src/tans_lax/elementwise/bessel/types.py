"""Type rule of the Bessel function."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.bessel import bessel_i0e_p
from tans_lax.elementwise.signatures import FLOATING, TypeRule, unary

TYPES: Final[dict[Primitive, TypeRule]] = {bessel_i0e_p: unary("bessel_i0e", FLOATING)}
