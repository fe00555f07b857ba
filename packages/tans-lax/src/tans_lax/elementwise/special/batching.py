"""Batching of special functions."""

from typing import Final

from tans_core import Primitive
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
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        erf_p,
        erfc_p,
        erf_inv_p,
        lgamma_p,
        digamma_p,
        polygamma_p,
        zeta_p,
        bessel_i1e_p,
    )
}
