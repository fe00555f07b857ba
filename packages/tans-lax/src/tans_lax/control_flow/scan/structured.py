"""Structured residuals of scan: those of its body, stacked by step."""

from typing import Any, Final

from tans_core.jaxpr import Eqn, Literal, Var
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.scan import scan_p
from tans_xla.structured import Channel, NotVisibleError, Slot, operand_of


def _scan_structured(ctx: Any, eqn: Eqn, _: Any) -> Channel | None:
    params = eqn.params
    body, num_consts, length = params["jaxpr"], params["num_consts"], params["length"]
    lifted = ctx.lift(body)
    if lifted is None:
        return None
    invars = body.jaxpr.invars
    where = dict(zip(invars, eqn.invars, strict=True))
    consts = set(invars[:num_consts])
    carry = set(invars[num_consts : num_consts + params["num_carry"]])

    def stacked(slot: Slot) -> Slot:
        if any(a in carry for a in slot.atoms if type(a) is not Literal):
            raise NotVisibleError
        mapped = [type(a) is not Literal and a not in consts for a in slot.atoms]
        return Slot(
            tuple(operand_of(a, where) for a in slot.atoms),
            ctx.stacked(slot.read, mapped, length),
            None if slot.aval is None else stacked_type(slot.aval, length),
        )

    slots = [stacked(slot) for slot in lifted.slots]
    inputs = [Var(slot.aval) for slot in slots if slot.aval is not None]
    new = eqn.replace(params=params | {"jaxpr": lifted.body}, invars=[*eqn.invars, *inputs])
    return Channel(new, slots, inputs, lifted.entries)


STRUCTURED: Final = {scan_p: _scan_structured}
