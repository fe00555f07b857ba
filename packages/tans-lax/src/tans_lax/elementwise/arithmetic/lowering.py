"""Lowering of the arithmetic operations."""

import math
from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import (
    abs_p,
    add_any_p,
    add_p,
    div_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    sub_p,
)
from tans_lax.elementwise.emit import IrValue, LoweringRule, by_dtype, one_op, spread
from tans_xla import hlo


def _sign_lower(ctx: Any, x: IrValue) -> IrValue:
    (aval,) = ctx.avals_in
    if aval.dtype.kind == "u":
        one = hlo.full(aval, 1)
        return hlo.op1("stablehlo.minimum", ctx.result_type, [x, one])
    return hlo.op1("stablehlo.sign", ctx.result_type, [x])


def _complex_abs(ctx: Any, x: IrValue) -> IrValue:
    """An infinite part makes the size infinite, also beside a nan (C99, annex G.5)."""
    (aval,) = ctx.avals_out
    kind, infinity = hlo.ir_type(aval), hlo.full(aval, math.inf)
    sizes = [
        hlo.op1("stablehlo.abs", kind, [hlo.op1(f"stablehlo.{part}", kind, [x])])
        for part in ("real", "imag")
    ]
    infinite = [hlo.compare(size, infinity, "EQ", "FLOAT") for size in sizes]
    boolean = hlo.ir_type(aval.update(dtype=np.dtype(np.bool_)))
    either = hlo.op1("stablehlo.or", boolean, infinite)
    return hlo.select(either, infinity, hlo.op1("stablehlo.abs", kind, [x]))


def _lexicographic(direction: str) -> LoweringRule:
    """Choose between complex numbers by their real parts, then by their imaginary parts."""

    def rule(ctx: Any, x: IrValue, y: IrValue) -> IrValue:
        x, y = spread(ctx, (x, y))
        part = ctx.avals_out[0].update(dtype=ctx.avals_out[0].dtype.type(0).real.dtype)
        real = [hlo.op1("stablehlo.real", hlo.ir_type(part), [v]) for v in (x, y)]
        imag = [hlo.op1("stablehlo.imag", hlo.ir_type(part), [v]) for v in (x, y)]
        first = hlo.select(
            hlo.compare(*real, "EQ", "FLOAT"),
            hlo.compare(*imag, direction, "FLOAT"),
            hlo.compare(*real, direction, "FLOAT"),
        )
        return hlo.select(first, x, y)

    return rule


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    neg_p: one_op("stablehlo.negate"),
    sign_p: _sign_lower,
    abs_p: by_dtype(one_op("stablehlo.abs"), _complex_abs),
    add_p: one_op("stablehlo.add"),
    sub_p: one_op("stablehlo.subtract"),
    mul_p: one_op("stablehlo.multiply"),
    div_p: one_op("stablehlo.divide"),
    rem_p: one_op("stablehlo.remainder"),
    max_p: by_dtype(one_op("stablehlo.maximum"), _lexicographic("GT")),
    min_p: by_dtype(one_op("stablehlo.minimum"), _lexicographic("LT")),
    add_any_p: one_op("stablehlo.add"),
}
