"""Dead-code elimination: drop what no output and no effect needs."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core import rules
from tans_core.jaxpr import ClosedJaxpr, DropVar, Eqn, Jaxpr, Literal, Var
from tans_core.refs import (
    AccumEffect,
    InternalMutableArrayEffect,
    RefEffect,
    WriteEffect,
    is_ref_type,
)


def dce_jaxpr(
    closed: ClosedJaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """Keep the used outputs and what they need.

    Args:
      closed: the program.
      used_outputs: which outputs to keep.
      instantiate: which inputs to keep whether or not they are read.

    Returns:
      The smaller program (its inputs are those marked), and which inputs it has.
    """
    jaxpr = closed.jaxpr
    live = {
        v
        for v, used in zip(jaxpr.outvars, used_outputs, strict=True)
        if used and type(v) is not Literal
    }
    # Whoever passed a ref may read it afterwards. Refs made inside live while something reads them.
    live.update(v for v in (*jaxpr.constvars, *jaxpr.invars) if is_ref_type(v.aval))
    kept: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        outvars = eqn.outvars
        if len(outvars) == 1 and not eqn.op.primitive.call_like:
            new = eqn if outvars[0] in live or _acts(eqn, live) else None
        else:
            new = _live_part(eqn, live)
        if new is not None:
            kept.append(new)
            for v in new.invars:
                if type(v) is not Literal:
                    live.add(v)
    kept.reverse()
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(jaxpr.invars)
    used_inputs = [v in live or keep for v, keep in zip(jaxpr.invars, instantiate, strict=True)]
    consts = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in live]
    all_used = all(used_inputs) and all(used_outputs) and len(consts) == len(closed.consts)
    if all_used and kept == jaxpr.eqns:
        return closed, used_inputs
    new_jaxpr = Jaxpr(
        [v for v, _ in consts],
        [v for v, used in zip(jaxpr.invars, used_inputs, strict=True) if used],
        [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used],
        kept,
        None,
        jaxpr.debug_info,
    )
    return ClosedJaxpr(new_jaxpr, [c for _, c in consts]), used_inputs


def _live_part(eqn: Eqn, live: set[Var]) -> Eqn | None:
    used = [v in live for v in eqn.outvars]
    if not any(used) and not _acts(eqn, live):
        return None
    rule: Callable[..., Any] | None = rules.dce.find(eqn.op.primitive)
    if rule is None or (all(used) and not _may_shrink(eqn)):
        return eqn
    used_inputs, new = rule(used, eqn)
    if new is not None and len(new.invars) != sum(used_inputs):
        raise AssertionError(f"dce rule of {eqn.primitive} disagrees with itself")
    return new


def _acts(eqn: Eqn, live: set[Var]) -> bool:
    """Whether an equation does something besides computing results that somebody may notice."""
    for effect in eqn.op.effects:
        if isinstance(effect, WriteEffect | AccumEffect):
            if eqn.invars[effect.input_index] in live:
                return True
        elif not isinstance(effect, RefEffect | InternalMutableArrayEffect):
            return True
    return False


def _may_shrink(eqn: Eqn) -> bool:
    # A body may hold dead code even when all its outputs are used.
    return eqn.op.primitive.call_like


def drop_unused_outvars(jaxpr: Jaxpr) -> Jaxpr:
    """Replace variables that nobody reads by `DropVar` (for printing)."""
    read: set[Var] = {v for e in jaxpr.eqns for v in e.invars if type(v) is not Literal}
    read.update(v for v in jaxpr.outvars if type(v) is not Literal)
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        outvars = [v if v in read else DropVar(v.aval) for v in eqn.outvars]
        eqns.append(Eqn(eqn.op, eqn.invars, outvars, eqn.traceback, eqn.name_stack, eqn.metadata))
    return Jaxpr(
        jaxpr.constvars, jaxpr.invars, jaxpr.outvars, eqns, jaxpr.effects, jaxpr.debug_info
    )
