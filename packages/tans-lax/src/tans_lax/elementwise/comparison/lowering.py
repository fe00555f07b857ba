"""Lowering of comparisons."""

from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_core.dtype_queries import issubdtype
from tans_lax.elementwise.comparison import (
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    ne_p,
)
from tans_lax.elementwise.emit import IrValue, LoweringRule, spread
from tans_xla import hlo


def comparison_kind(dtype: Any, total_order: bool = False) -> str:
    """Return the compiler's kind of comparison for a dtype."""
    if issubdtype(dtype, np.signedinteger):
        return "SIGNED"
    if issubdtype(dtype, np.unsignedinteger) or dtype == np.bool_:
        return "UNSIGNED"
    return "TOTALORDER" if total_order and dtype.kind != "c" else "FLOAT"


def _compare(direction: str, *, total_order: bool = False) -> LoweringRule:
    def rule(ctx: Any, x: IrValue, y: IrValue) -> IrValue:
        if max(aval.ndim for aval in ctx.avals_in) > ctx.avals_out[0].ndim:
            return _compare_elements(ctx, x, y, direction)
        x, y = spread(ctx, (x, y))
        return hlo.compare(x, y, direction, comparison_kind(ctx.avals_in[0].dtype, total_order))

    return rule


def _compare_elements(ctx: Any, x: IrValue, y: IrValue, direction: str) -> IrValue:
    """Compare elements that are small arrays: all their parts are equal, or some part differs."""
    (out,) = ctx.avals_out
    widest = max(ctx.avals_in, key=lambda aval: aval.ndim)
    full = widest.update(shape=(*out.shape, *widest.shape[out.ndim :]))
    operands = [
        value
        if aval.shape == full.shape
        else hlo.broadcast_in_dim(value, full, range(widest.ndim - aval.ndim, widest.ndim))
        for value, aval in zip((x, y), ctx.avals_in, strict=True)
    ]
    parts = hlo.compare(*operands, direction, comparison_kind(widest.dtype))
    start, combine = (True, "stablehlo.and") if direction == "EQ" else (False, "stablehlo.or")
    scalar = out.update(shape=())
    return hlo.reduce(
        [parts],
        [hlo.full(scalar, start)],
        range(out.ndim, widest.ndim),
        [ctx.result_type],
        lambda a, b: [hlo.op1(combine, hlo.ir_type(scalar), [a, b])],
    )[0]


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    eq_p: _compare("EQ"),
    ne_p: _compare("NE"),
    lt_p: _compare("LT"),
    le_p: _compare("LE"),
    gt_p: _compare("GT"),
    ge_p: _compare("GE"),
    eq_to_p: _compare("EQ", total_order=True),
    lt_to_p: _compare("LT", total_order=True),
    le_to_p: _compare("LE", total_order=True),
}
