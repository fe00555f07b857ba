"""Batching of exponentials and logarithms."""

from typing import Final

from tans_core import Primitive
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
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        exp_p,
        exp2_p,
        expm1_p,
        log_p,
        log1p_p,
        log2_p,
        logistic_p,
        logistic_slope_p,
    )
}
