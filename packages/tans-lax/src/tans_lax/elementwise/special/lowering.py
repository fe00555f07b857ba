"""Lowering of special functions: all are operations of the compiler's client dialect."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.emit import LoweringRule, one_op
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

LOWERING: Final[dict[Primitive, LoweringRule]] = {
    erf_p: one_op("chlo.erf"),
    erfc_p: one_op("chlo.erfc"),
    erf_inv_p: one_op("chlo.erf_inv"),
    lgamma_p: one_op("chlo.lgamma"),
    digamma_p: one_op("chlo.digamma"),
    polygamma_p: one_op("chlo.polygamma"),
    zeta_p: one_op("chlo.zeta"),
    bessel_i1e_p: one_op("chlo.bessel_i1e"),
}
