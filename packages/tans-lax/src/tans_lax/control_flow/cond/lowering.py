"""Lowering of cond: one ``stablehlo.case``; operands are read from outside its regions."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_lax.control_flow import regions
from tans_lax.control_flow.cond import active_lanes_p, cond_p
from tans_xla import hlo
from tans_xla.lowering import LoweringContext

type Value = Any  # ir.Value


def _cond_lower(
    ctx: LoweringContext,
    index: Value,
    *operands: Value,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> list[Value]:
    del params
    chosen = 0 if len(branches) == 1 else _known_index(index)
    if chosen is not None:
        return regions.emit(ctx, branches[chosen], operands, ctx.tokens)
    effects = regions.effects_of(branches)
    before = [ctx.tokens[e] for e in effects]
    types = [*(t.type for t in before), *ctx.result_types]
    case = hlo.op("stablehlo.case", types, (index,), regions=len(branches))
    for region, branch in enumerate(branches):
        with hlo.block(case, region, ()):
            tokens = dict(zip(effects, before, strict=True))
            outs = regions.emit(ctx, branch, operands, tokens)
            hlo.ret([*(tokens[e] for e in effects), *outs])
    outs = list(case.results)
    ctx.tokens.update(zip(effects, outs, strict=False))
    return outs[len(effects) :]


def _known_index(index: Value) -> int | None:
    """Return the index when it is a constant, as that of the platform: other branches vanish."""
    value = hlo.literal_value(index)
    return None if value is None else int(value.get_splat_value().value)


def _active_lanes_lower(ctx: LoweringContext, active: Value, x: Value) -> Value:
    del ctx, active
    return x


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    cond_p: _cond_lower,
    active_lanes_p: _active_lanes_lower,
}
