"""Batching of the incomplete gamma functions."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.incomplete_gamma import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p) for p in (igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p)
}
