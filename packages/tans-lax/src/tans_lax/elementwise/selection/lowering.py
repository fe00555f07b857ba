"""Lowering of choices between values."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.elementwise.comparison.lowering import comparison_kind
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_lax.elementwise.selection import clamp_p, select_n_p
from tans_xla import hlo


def _select_n_lower(ctx: Any, which: IrValue, *cases: IrValue) -> IrValue:
    if len(cases) == 1:
        return cases[0]
    which_aval = ctx.avals_in[0]
    (out,) = ctx.avals_out
    if which_aval.dtype == np.bool_:
        return hlo.select(_over_elements(which, which_aval, out), cases[1], cases[0])
    return _search(which, which_aval, out, cases, 0)


def _over_elements(which: IrValue, aval: Any, out: Any) -> IrValue:
    """Repeat the index along the trailing dimensions that extended dtypes add."""
    if aval.shape in ((), out.shape):
        return which
    return hlo.broadcast_in_dim(which, aval.update(shape=out.shape), range(aval.ndim))


def _search(which: IrValue, aval: Any, out: Any, cases: Sequence[IrValue], offset: int) -> IrValue:
    """Halve the list of cases: one comparison per level and pair of halves."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    bound = hlo.full(aval, offset + middle)
    below = hlo.compare(which, bound, "LT", comparison_kind(aval.dtype))
    below = _over_elements(below, aval.update(dtype=np.bool_), out)
    return hlo.select(
        below,
        _search(which, aval, out, cases[:middle], offset),
        _search(which, aval, out, cases[middle:], offset + middle),
    )


def _clamp_lower(ctx: Any, low: IrValue, x: IrValue, high: IrValue) -> IrValue:
    return hlo.op1("stablehlo.clamp", ctx.result_type, [low, x, high])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    select_n_p: _select_n_lower,
    clamp_p: _clamp_lower,
}
