"""Dead-code elimination of user primitives."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.residuals import spread_flags
from tans_core.errors import message
from tans_core.jaxpr import Eqn
from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.errors import brief, where

type Pruned = tuple[Sequence[bool], Eqn | None]


def _call_dce(used: Sequence[bool], eqn: Eqn) -> Pruned:
    prim: Any = eqn.params["prim"]
    count = len(eqn.invars)
    if not prim.defines("dce") or all(used):
        return [True] * count, eqn
    found = prim.dce(prim.out_tree.unflatten(used), prim.in_tree.unflatten([True] * count))
    if not isinstance(found, tuple) or len(found) != 3:
        raise TypeError(
            message(
                where(prim, "dce"),
                f"a result {brief(found)}",
                "a tuple (used_ins, produced_outs, primitive or None)",
                "Return None as the primitive to remove the application.",
            )
        )
    used_ins, produced, new = found
    if new is None:
        return [False] * count, None
    name = where(prim, "dce")
    kept_ins = spread_flags(name, used_ins, prim.in_tree.unflatten(eqn.invars))
    kept_outs = spread_flags(name, produced, prim.out_tree.unflatten(eqn.outvars))
    if (len(new.in_avals_flat), len(new.out_avals_flat)) != (sum(kept_ins), sum(kept_outs)):
        raise ValueError(
            message(
                name,
                f"a primitive with {len(new.in_avals_flat)} inputs and {len(new.out_avals_flat)} "
                f"outputs, and flags that keep {sum(kept_ins)} and {sum(kept_outs)}",
                "equal numbers",
                "Build the new primitive for the inputs and outputs that are kept.",
            )
        )
    return kept_ins, eqn.replace(
        params={"prim": new},
        invars=[v for v, keep in zip(eqn.invars, kept_ins, strict=True) if keep],
        outvars=[v for v, keep in zip(eqn.outvars, kept_outs, strict=True) if keep],
        effects=new.effects,
    )


def _lin_dce(used: Sequence[bool], eqn: Eqn) -> Pruned:
    """Clear the flags of outputs that nobody reads: `vjp_bwd` sees `Zero` there."""
    if not any(used):
        return [False] * len(eqn.invars), None
    if not all(used):
        wanted = iter(used)
        nz_out = tuple(nz and next(wanted) for nz in eqn.params["nz_out"])
        outvars = [v for v, use in zip(eqn.outvars, used, strict=True) if use]
        eqn = eqn.replace(params={**eqn.params, "nz_out": nz_out}, outvars=outvars)
    return [True] * len(eqn.invars), eqn


DCE: Final = {hi_call_p: _call_dce, hi_lin_p: _lin_dce}
