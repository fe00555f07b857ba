"""While in low programs: carries and constants of user types are taken apart."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_lax.control_flow.masks import split_at
from tans_lax.control_flow.while_loop import while_p


def _while_to_lo(
    ctx: Any,
    *args: Any,
    cond_jaxpr: Any,
    body_jaxpr: Any,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Any]:
    cond_consts = cond_jaxpr.in_avals[:cond_nconsts]
    body_consts, carry = split_at(body_jaxpr.in_avals, body_nconsts)
    found = while_p.bind(
        *ctx.lowered([*cond_consts, *body_consts, *carry], args),
        cond_jaxpr=ctx.lo_jaxpr(cond_jaxpr),
        body_jaxpr=ctx.lo_jaxpr(body_jaxpr),
        cond_nconsts=len(ctx.spread(cond_consts, cond_consts)),
        body_nconsts=len(ctx.spread(body_consts, body_consts)),
    )
    return ctx.raised(carry, found)


TO_LO: Final = {while_p: ContextRule(_while_to_lo)}
