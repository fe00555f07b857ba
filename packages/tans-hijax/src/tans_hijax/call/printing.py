"""Printed form of user primitives: ``Name[params] operands``."""

from typing import Any, Final

from tans_core.jaxpr import Eqn
from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.hiprim import text_of


def _print(eqn: Eqn, names: Any) -> str:
    name = text_of(eqn.params["prim"])
    if eqn.primitive is hi_lin_p:
        name = f"linearized {name}"
    outs = " ".join(f"{names(v)}:{v.aval.str_short(True)}" for v in eqn.outvars)
    args = " ".join(map(names, eqn.invars))
    return f"{outs} = {name} {args}" if outs else f"{name} {args}"


PRINTING: Final = {hi_call_p: _print, hi_lin_p: _print}
