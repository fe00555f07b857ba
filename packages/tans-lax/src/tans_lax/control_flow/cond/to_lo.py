"""Cond in low programs: operands and results of user types are taken apart."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_lax.control_flow.cond import cond_p


def _cond_to_lo(ctx: Any, index: Any, *args: Any, branches: Any, **params: Any) -> list[Any]:
    first = branches[0]
    found = cond_p.bind(
        index,
        *ctx.lowered(first.in_avals, args),
        branches=tuple(map(ctx.lo_jaxpr, branches)),
        **params,
    )
    return ctx.raised(first.out_avals, found)


TO_LO: Final = {cond_p: ContextRule(_cond_to_lo)}
