"""Sharding rules of the trigonometric operations."""

from typing import Final

from tans_core.primitive import Primitive
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
from tans_lax.propagation import Rule, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    sin_p: unary,
    cos_p: unary,
    tan_p: unary,
    asin_p: unary,
    acos_p: unary,
    atan_p: unary,
    atan2_p: nary,
    sinh_p: unary,
    cosh_p: unary,
    tanh_p: unary,
    asinh_p: unary,
    acosh_p: unary,
    atanh_p: unary,
    tanh_slope_p: unary,
}
