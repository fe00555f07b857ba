"""Batching of trigonometric and hyperbolic functions."""

from typing import Final

from tans_core import Primitive
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
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        sin_p,
        cos_p,
        tan_p,
        asin_p,
        acos_p,
        atan_p,
        atan2_p,
        sinh_p,
        cosh_p,
        tanh_p,
        asinh_p,
        acosh_p,
        atanh_p,
        tanh_slope_p,
    )
}
