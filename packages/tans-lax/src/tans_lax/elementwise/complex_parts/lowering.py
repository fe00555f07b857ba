"""Lowering of the parts of complex numbers."""

from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.elementwise.complex_parts import complex_p, conj_p, imag_p, real_p
from tans_lax.elementwise.emit import IrValue, LoweringRule, one_op
from tans_xla import hlo


def _conj_lower(ctx: Any, x: IrValue, *, input_dtype: np.dtype) -> IrValue:
    aval, kind = ctx.avals_in[0], ctx.result_type
    if input_dtype.kind != "c":
        return hlo.op1("stablehlo.complex", kind, [x, hlo.full(aval, 0)])
    part = hlo.ir_type(aval.update(dtype=aval.dtype.type(0).real.dtype))
    real = hlo.op1("stablehlo.real", part, [x])
    imag = hlo.op1("stablehlo.imag", part, [x])
    return hlo.op1("stablehlo.complex", kind, [real, hlo.op1("stablehlo.negate", part, [imag])])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    real_p: one_op("stablehlo.real"),
    imag_p: one_op("stablehlo.imag"),
    complex_p: one_op("stablehlo.complex"),
    conj_p: _conj_lower,
}
