"""Lowering of the Bessel function: a program."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.bessel import bessel_i0e_p
from tans_lax.elementwise.bessel.chebyshev import i0e
from tans_lax.elementwise.emit_wide import program

LOWERING: Final[dict[Primitive, Any]] = {bessel_i0e_p: program(i0e)}
