"""Nested jit in low programs: a call of the body's low form."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_xla.jit.primitive import jit_p


def _jit_to_lo(ctx: Any, *args: Any, jaxpr: Any, **params: Any) -> list[Any]:
    ins, outs = jaxpr.in_avals, jaxpr.out_avals
    for name, avals in (("donated_invars", ins), ("in_shardings", ins), ("out_shardings", outs)):
        params[name] = tuple(ctx.spread(avals, params[name]))
    found = jit_p.bind(*ctx.lowered(ins, args), jaxpr=ctx.lo_jaxpr(jaxpr), **params)
    return ctx.raised(outs, found)


TO_LO: Final = {jit_p: ContextRule(_jit_to_lo)}
