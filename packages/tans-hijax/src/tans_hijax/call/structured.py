"""Structured residuals of user primitives: what `vjp_fwd` returned as such."""

from typing import Any, Final

from tans_core.jaxpr import Eqn, Var
from tans_hijax.call import hi_lin_p
from tans_xla.structured import Channel, Slot, same


def _lin_structured(ctx: Any, eqn: Eqn, _: Any) -> Channel | None:
    structure = eqn.params["sres_tree"]
    if structure is None:
        return None
    start = eqn.params["res_tree"].num_leaves
    end = start + structure.num_leaves
    saved = eqn.invars[start:end]
    inputs = [Var(v.aval) for v in saved]
    new = eqn.replace(invars=[*eqn.invars[:start], *inputs, *eqn.invars[end:]])
    slots = [Slot((v,), same, v.aval) for v in saved]
    return Channel(new, slots, inputs, structure.unflatten(range(len(slots))))


STRUCTURED: Final = {hi_lin_p: _lin_structured}
