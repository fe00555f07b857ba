"""Type rules of special functions."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.signatures import FLOATING, TypeRule, nary, unary
from tans_lax.elementwise.special import (
    bessel_i1e_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    polygamma_p,
    zeta_p,
)

TYPES: Final[dict[Primitive, TypeRule]] = {
    erf_p: unary("erf", FLOATING),
    erfc_p: unary("erfc", FLOATING),
    erf_inv_p: unary("erf_inv", FLOATING),
    lgamma_p: unary("lgamma", FLOATING),
    digamma_p: unary("digamma", FLOATING),
    polygamma_p: nary("polygamma", FLOATING),
    zeta_p: nary("zeta", FLOATING),
    bessel_i1e_p: unary("bessel_i1e", FLOATING),
}
