"""Lowering rules of operations that are programs, computed in a wider dtype than their operands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tans_core import config, trace_to_jaxpr
from tans_lax.elementwise.emit import IrValue, LoweringRule, spread
from tans_xla import hlo
from tans_xla.lowering import ByPlatform, lower_eqns


def program(fun: Callable[..., Any]) -> LoweringRule | ByPlatform:
    """Make the rule of an operation that is the program `fun` of arrays of the result's shape.

    Half precision is computed in single. Single precision is computed in double where that is in
    hardware: the programs multiply and divide quantities much larger than their result.
    """
    return ByPlatform(default=_in_wider(fun, np.float64), tpu=_in_wider(fun, np.float32))


def _in_wider(fun: Callable[..., Any], single: Any) -> LoweringRule:
    def rule(ctx: Any, *operands: IrValue) -> IrValue:
        out = ctx.avals_out[0]
        narrow = out.dtype.itemsize < 4
        wide = out.update(dtype=np.dtype(np.float32 if narrow else single), weak_type=False)
        if out.dtype.itemsize == 8:
            wide = out.update(weak_type=False)
        operands = [hlo.convert(x, wide) for x in spread(ctx, operands)]
        # Constants of the program are of the wider dtype, also when users have it switched off.
        with config.enable_x64(True):
            closed = trace_to_jaxpr(lambda *xs: [fun(*xs)], [wide] * len(operands))
            (y,) = lower_eqns(ctx.builder, closed, operands, ctx.tokens)
        return hlo.convert(y, out)

    return rule
