"""Sharding rules of the incomplete gamma functions."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.incomplete_gamma import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
)
from tans_lax.propagation import Rule, nary

SHARDING: Final[dict[Primitive, Rule]] = {
    igamma_p: nary,
    igammac_p: nary,
    igamma_grad_a_p: nary,
    random_gamma_grad_p: nary,
}
