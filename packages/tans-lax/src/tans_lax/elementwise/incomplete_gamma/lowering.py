"""Lowering of the incomplete gamma functions: each is a program."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit_wide import program
from tans_lax.elementwise.incomplete_gamma import (
    expansions,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
)

LOWERING: Final[dict[Primitive, Any]] = {
    igamma_p: program(expansions.lower),
    igammac_p: program(expansions.upper),
    igamma_grad_a_p: program(expansions.lower_slope),
    random_gamma_grad_p: program(expansions.sample_slope),
}
