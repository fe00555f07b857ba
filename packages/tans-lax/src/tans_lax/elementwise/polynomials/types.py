"""Type rule of polynomials."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.polynomials import polynomial_p
from tans_lax.elementwise.signatures import NUMBER, TypeRule, nary

TYPES: Final[dict[Primitive, TypeRule]] = {polynomial_p: nary("polynomial", NUMBER)}
