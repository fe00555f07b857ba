"""Checkpointed calls in low programs: calls of the body's low form."""

from typing import Any, Final

from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_core.rules import ContextRule


def _remat_to_lo(ctx: Any, *args: Any, jaxpr: Any, **params: Any) -> list[Any]:
    found = remat_p.bind(*ctx.lowered(jaxpr.in_avals, args), jaxpr=ctx.lo_jaxpr(jaxpr), **params)
    return ctx.raised(jaxpr.out_avals, found)


def _first_to_lo(ctx: Any, x: Any, *_: Any, **__: Any) -> Any:
    return x


TO_LO: Final = {
    remat_p: ContextRule(_remat_to_lo),
    name_p: ContextRule(_first_to_lo),
    phase_p: ContextRule(_first_to_lo),
}
