"""Type rules of the incomplete gamma functions."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.incomplete_gamma import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
)
from tans_lax.elementwise.signatures import FLOATING, TypeRule, nary

TYPES: Final[dict[Primitive, TypeRule]] = {
    igamma_p: nary("igamma", FLOATING),
    igammac_p: nary("igammac", FLOATING),
    igamma_grad_a_p: nary("igamma_grad_a", FLOATING),
    random_gamma_grad_p: nary("random_gamma_grad", FLOATING),
}
