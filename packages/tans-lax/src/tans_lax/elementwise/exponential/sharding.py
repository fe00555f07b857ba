"""Sharding rules of the exponential operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.exponential import (
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    logistic_slope_p,
)
from tans_lax.propagation import Rule, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    exp_p: unary,
    exp2_p: unary,
    expm1_p: unary,
    log_p: unary,
    log1p_p: unary,
    log2_p: unary,
    logistic_p: unary,
    logistic_slope_p: unary,
}
