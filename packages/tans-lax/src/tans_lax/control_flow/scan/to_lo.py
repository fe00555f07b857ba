"""Scan in low programs: carries, constants and stacked values of user types are taken apart."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.masks import split_at
from tans_lax.control_flow.scan import scan_p


def _scan_to_lo(
    ctx: Any, *args: Any, jaxpr: Any, num_consts: int, num_carry: int, length: int, **params: Any
) -> list[Any]:
    consts, carry, elements = split_at(jaxpr.in_avals, num_consts, num_carry)
    xs = [stacked_type(a, length) for a in elements]
    ys = [stacked_type(a, length) for a in jaxpr.out_avals[num_carry:]]
    found = scan_p.bind(
        *ctx.lowered([*consts, *carry, *xs], args),
        jaxpr=ctx.lo_jaxpr(jaxpr),
        num_consts=len(ctx.spread(consts, consts)),
        num_carry=len(ctx.spread(carry, carry)),
        length=length,
        **params,
    )
    return ctx.raised([*carry, *ys], found)


TO_LO: Final = {scan_p: ContextRule(_scan_to_lo)}
