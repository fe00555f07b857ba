"""Lowering of exponentials and logarithms."""

import math
from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_core.dtype_queries import finfo
from tans_lax.elementwise.emit import IrValue, LoweringRule, accuracy_attribute, one_op
from tans_lax.elementwise.exponential import (
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    logistic_slope_p,
)
from tans_xla import hlo


def _with_accuracy(name: str, kind: Any, x: IrValue, accuracy: Any) -> IrValue:
    attrs = {} if accuracy is None else {"result_accuracy": accuracy_attribute(accuracy)}
    return hlo.op1(name, kind, [x], attrs)


def _exp2_lower(ctx: Any, x: IrValue, *, accuracy: Any = None) -> IrValue:
    aval, kind = ctx.avals_in[0], ctx.result_type
    scaled = hlo.op1("stablehlo.multiply", kind, [hlo.full(aval, math.log(2)), x])
    return _with_accuracy("stablehlo.exponential", kind, scaled, accuracy)


def _log2_lower(ctx: Any, x: IrValue, *, accuracy: Any = None) -> IrValue:
    aval, kind = ctx.avals_in[0], ctx.result_type
    natural = _with_accuracy("stablehlo.log", kind, x, accuracy)
    if aval.dtype.kind != "c":
        return hlo.op1("stablehlo.multiply", kind, [natural, hlo.full(aval, 1 / math.log(2))])
    # Part by part: a complex product would turn -0 into 0, and inf into nan.
    part = aval.update(dtype=aval.dtype.type(0).real.dtype)
    part_kind, scale = hlo.ir_type(part), hlo.full(part, 1 / math.log(2))
    scaled = [
        hlo.op1(
            "stablehlo.multiply",
            part_kind,
            [hlo.op1(f"stablehlo.{name}", part_kind, [natural]), scale],
        )
        for name in ("real", "imag")
    ]
    return hlo.op1("stablehlo.complex", kind, scaled)


def _logistic_slope_lower(ctx: Any, x: IrValue) -> IrValue:
    aval = ctx.avals_in[0]
    if aval.dtype != np.float16:
        return _logistic_slope(aval, x)
    wide = aval.update(dtype=np.dtype(np.float32))  # exp(12) overflows, and the slope is 6e-6
    return hlo.convert(_logistic_slope(wide, hlo.convert(x, wide)), aval)


def _logistic_slope(aval: Any, x: IrValue) -> IrValue:
    """Compute ``s(x) s(-x)`` with ``s(-x) = s(x) exp(-x)``.

    The compiler finds this exponential in s(x) and computes it once. Where it overflows, s(x) is 0.
    """
    kind = hlo.ir_type(aval)
    s = hlo.op1("stablehlo.logistic", kind, [x])
    minus = hlo.op1("stablehlo.negate", kind, [x])
    if aval.dtype.kind == "c":
        other = hlo.op1("stablehlo.logistic", kind, [minus])
        return hlo.op1("stablehlo.multiply", kind, [s, other])
    largest = hlo.full(aval, finfo(aval.dtype).max)
    e = hlo.op1("stablehlo.exponential", kind, [minus])
    e = hlo.op1("stablehlo.minimum", kind, [e, largest])
    other = hlo.op1("stablehlo.multiply", kind, [s, e])
    return hlo.op1("stablehlo.multiply", kind, [s, other])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    exp_p: one_op("stablehlo.exponential"),
    exp2_p: _exp2_lower,
    expm1_p: one_op("stablehlo.exponential_minus_one"),
    log_p: one_op("stablehlo.log"),
    log1p_p: one_op("stablehlo.log_plus_one"),
    log2_p: _log2_lower,
    logistic_p: one_op("stablehlo.logistic"),
    logistic_slope_p: _logistic_slope_lower,
}
