"""Type rules of trigonometric and hyperbolic functions."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.signatures import INEXACT, TypeRule, nary, unary
from tans_lax.elementwise.trigonometric import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
    tanh_slope_p,
)

TYPES: Final[dict[Primitive, TypeRule]] = {
    sin_p: unary("sin", INEXACT),
    cos_p: unary("cos", INEXACT),
    tan_p: unary("tan", INEXACT),
    asin_p: unary("asin", INEXACT),
    acos_p: unary("acos", INEXACT),
    atan_p: unary("atan", INEXACT),
    atan2_p: nary("atan2", INEXACT, promoting="arctan2"),
    sinh_p: unary("sinh", INEXACT),
    cosh_p: unary("cosh", INEXACT),
    tanh_p: unary("tanh", INEXACT),
    asinh_p: unary("asinh", INEXACT),
    acosh_p: unary("acosh", INEXACT),
    atanh_p: unary("atanh", INEXACT),
    tanh_slope_p: unary("tanh_slope", INEXACT),
}
