"""Lowering of special functions: all are operations of the compiler's client dialect."""

from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule, one_op
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
from tans_xla import hlo
from tans_xla.lowering import ByPlatform


def _in_double(name: str) -> LoweringRule:
    """Make a rule that computes single precision in double.

    The compiler's expansions sum terms much larger than the result near the zeros of the function,
    and lose up to four of seven digits there.
    """

    def rule(ctx: Any, x: IrValue) -> IrValue:
        aval, out = ctx.avals_in[0], ctx.avals_out[0]
        if aval.dtype != np.float32:
            return hlo.op1(name, ctx.result_type, [x])
        wide = aval.update(dtype=np.float64)
        y = hlo.op1(name, hlo.ir_type(wide), [hlo.convert(x, wide)])
        return hlo.convert(y, out)

    return rule


def _in_double_where_fast(name: str) -> ByPlatform:
    return ByPlatform(default=_in_double(name), tpu=one_op(name))


LOWERING: Final[dict[Primitive, LoweringRule | ByPlatform]] = {
    erf_p: one_op("chlo.erf"),
    erfc_p: one_op("chlo.erfc"),
    erf_inv_p: one_op("chlo.erf_inv"),
    lgamma_p: _in_double_where_fast("chlo.lgamma"),
    digamma_p: _in_double_where_fast("chlo.digamma"),
    polygamma_p: one_op("chlo.polygamma"),
    zeta_p: one_op("chlo.zeta"),
    bessel_i1e_p: one_op("chlo.bessel_i1e"),
}
