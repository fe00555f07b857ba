"""Lowering of arrays made from a shape."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.creation import empty_p, iota_p
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_xla import hlo


def _iota_lower(ctx: Any, *, dimension: int, **params: Any) -> IrValue:
    del params
    return hlo.iota(ctx.avals_out[0], dimension)


def _empty_lower(ctx: Any, **params: Any) -> IrValue:
    del params
    return hlo.zeros(ctx.avals_out[0])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    iota_p: _iota_lower,
    empty_p: _empty_lower,
}
