"""Structured residuals of shard_map: those of the devices, along a leading mesh axis."""

from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_xla.structured import Channel, Slot, operand_of


def _shard_map_structured(ctx: Any, eqn: Eqn, _: Any) -> Channel | None:
    params = eqn.params
    body = params["jaxpr"]
    lifted = ctx.lift(body)
    if lifted is None:
        return None
    operands = dict(zip(body.jaxpr.invars, eqn.invars, strict=True))
    specs = dict(zip(body.jaxpr.invars, params["in_specs"], strict=True))
    # A scalar came with a dimension for the mesh axis, which the body drops.
    dropped = {e.outvars[0]: e for e in body.eqns if e.primitive.name == "squeeze"}
    invars = list(lifted.body.jaxpr.invars)
    at = len(body.jaxpr.invars)
    slots: list[Slot] = []
    new_specs, before = [], []
    for slot in lifted.slots:
        atom: Any = slot.atoms[0]
        squeeze = dropped.get(atom) if atom not in operands else None
        if squeeze is not None:
            atom = squeeze.invars[0]
        operand = operand_of(atom, operands)
        slots.append(Slot((operand,), slot.read, None if slot.aval is None else operand.aval))
        if slot.aval is None:
            continue
        new_specs.append(specs[atom])
        if squeeze is not None:
            before.append(squeeze.replace(invars=[Var(atom.aval)], outvars=[invars[at]]))
            invars[at] = before[-1].invars[0]
        at += 1
    inputs = [Var(slot.aval) for slot in slots if slot.aval is not None]
    params = params | {
        "jaxpr": _with(lifted.body, invars, before),
        "in_specs": (*params["in_specs"], *new_specs),
    }
    new = eqn.replace(params=params, invars=[*eqn.invars, *inputs])
    return Channel(new, slots, inputs, lifted.entries)


def _with(closed: ClosedJaxpr, invars: list[Any], before: list[Eqn]) -> ClosedJaxpr:
    j = closed.jaxpr
    eqns = [*before, *j.eqns]
    new = Jaxpr(j.constvars, invars, j.outvars, eqns, j.effects, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


STRUCTURED: Final = {shard_map_p: _shard_map_structured}
