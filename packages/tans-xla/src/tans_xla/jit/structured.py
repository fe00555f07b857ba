"""Structured residuals of a nested jit: the list of those of its body."""

from typing import Any, Final

from tans_core.jaxpr import Eqn, Var
from tans_xla.jit.primitive import jit_p
from tans_xla.structured import Channel, outside


def _jit_structured(ctx: Any, eqn: Eqn, _: Any) -> Channel | None:
    params = eqn.params
    lifted = ctx.lift(params["jaxpr"])
    if lifted is None:
        return None
    where = dict(zip(params["jaxpr"].jaxpr.invars, eqn.invars, strict=True))
    slots = [outside(slot, where, slot.aval) for slot in lifted.slots]
    inputs = [Var(slot.aval) for slot in slots if slot.aval is not None]
    params = params | {
        "jaxpr": lifted.body,
        "donated_invars": (*params["donated_invars"], *[False] * len(inputs)),
        "in_shardings": (*params["in_shardings"], *[None] * len(inputs)),
    }
    new = eqn.replace(params=params, invars=[*eqn.invars, *inputs])
    return Channel(new, slots, inputs, lifted.entries)


STRUCTURED: Final = {jit_p: _jit_structured}
