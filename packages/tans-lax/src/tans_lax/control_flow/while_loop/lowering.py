"""Lowering of while: one ``stablehlo.while``; constants are read from outside its regions."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_lax.control_flow import regions
from tans_lax.control_flow.while_loop import while_p
from tans_xla import hlo
from tans_xla.lowering import LoweringContext

type Value = Any  # ir.Value


def _while_lower(
    ctx: LoweringContext,
    *operands: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    cond_consts = operands[:cond_nconsts]
    body_consts = operands[cond_nconsts : cond_nconsts + body_nconsts]
    init = operands[cond_nconsts + body_nconsts :]
    effects = regions.effects_of([cond_jaxpr, body_jaxpr])
    n = len(effects)

    def condition(carry: list[Value], tokens: regions.Tokens) -> Value:
        return regions.emit(ctx, cond_jaxpr, [*cond_consts, *carry], tokens)[0]

    # The condition's region can't return tokens. A condition with ordered effects is evaluated
    # before the loop and at the end of the body, and the loop carries its result.
    carried = [condition(list(init), ctx.tokens)] if regions.effects_of([cond_jaxpr]) else []
    state = [*carried, *(ctx.tokens[e] for e in effects), *init]
    types = [x.type for x in state]
    loop = hlo.op("stablehlo.while", types, state, regions=2)
    with hlo.block(loop, 0, types) as args:
        rest = list(args[len(carried) + n :])
        tokens = dict(zip(effects, args[len(carried) :], strict=False))
        hlo.ret([args[0] if carried else condition(rest, tokens)])
    with hlo.block(loop, 1, types) as args:
        tokens = dict(zip(effects, args[len(carried) :], strict=False))
        carry = list(args[len(carried) + n :])
        carry = regions.emit(ctx, body_jaxpr, [*body_consts, *carry], tokens)
        following = [condition(carry, tokens)] if carried else []
        hlo.ret([*following, *(tokens[e] for e in effects), *carry])
    outs = list(loop.results)[len(carried) :]
    ctx.tokens.update(zip(effects, outs, strict=False))
    return outs[n:]


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    while_p: _while_lower,
}
