"""Dead code in cond: results that nobody reads, operands that no branch reads."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.jaxpr import Eqn
from tans_core.primitive import Primitive
from tans_lax.control_flow.cond import cond_p
from tans_lax.control_flow.cond.types import effects_of
from tans_lax.control_flow.programs import pruned


def _cond_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    branches = eqn.params["branches"]
    nothing = [False] * len(branches[0].in_avals)
    read = [pruned(b, used_outputs, nothing)[1] for b in branches]
    used = [any(column) for column in zip(*read, strict=True)]
    small = tuple(pruned(b, used_outputs, used)[0] for b in branches)
    if not small[0].out_avals and not any(b.effects for b in small):
        return [False] * (1 + len(used)), None
    if all(used_outputs) and all(a is b for a, b in zip(small, branches, strict=True)):
        return [True] * (1 + len(used)), eqn
    used = [True, *used]
    new = eqn.replace(
        params={**eqn.params, "branches": small},
        invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u],
        effects=effects_of(small),
    )
    return used, new


DCE: Final[dict[Primitive, Callable[..., Any]]] = {
    cond_p: _cond_dce,
}
