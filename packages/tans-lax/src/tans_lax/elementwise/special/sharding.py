"""Sharding rules of the special operations."""

from typing import Final

from tans_core.primitive import Primitive
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
from tans_lax.propagation import Rule, nary, unary

SHARDING: Final[dict[Primitive, Rule]] = {
    erf_p: unary,
    erfc_p: unary,
    erf_inv_p: unary,
    lgamma_p: unary,
    digamma_p: unary,
    polygamma_p: nary,
    zeta_p: nary,
    bessel_i1e_p: unary,
}
