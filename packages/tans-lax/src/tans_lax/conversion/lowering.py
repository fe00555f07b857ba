"""Lowering of changes of dtype."""

from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.conversion import bitcast_convert_type_p, convert_element_type_p
from tans_lax.elementwise.comparison.lowering import comparison_kind
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_xla import hlo


def _convert_lower(ctx: Any, x: IrValue, **params: Any) -> IrValue:
    del params
    (old,), (new,) = ctx.avals_in, ctx.avals_out
    if old.dtype == new.dtype:
        return x
    if new.dtype == np.bool_:
        return hlo.compare(x, hlo.zeros(old), "NE", comparison_kind(old.dtype))
    if old.dtype.kind == "c" and new.dtype.kind != "c":
        part = old.update(dtype=old.dtype.type(0).real.dtype)
        x = hlo.op1("stablehlo.real", hlo.ir_type(part), [x])
        if part.dtype == new.dtype:
            return x
    return hlo.convert(x, new)


def _bitcast_lower(ctx: Any, x: IrValue, *, new_dtype: Any) -> IrValue:
    if ctx.avals_in[0].dtype == new_dtype:
        return x
    return hlo.op1("stablehlo.bitcast_convert", ctx.result_type, [x])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    convert_element_type_p: _convert_lower,
    bitcast_convert_type_p: _bitcast_lower,
}
