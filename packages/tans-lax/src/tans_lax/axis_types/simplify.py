"""Dead-code elimination through calls with other axis types."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Eqn
from tans_lax.axis_types import axes_call_p


def _dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    params: dict[str, Any] = eqn.params
    closed, used_inputs = dce_jaxpr(params["jaxpr"], used_outputs)
    if closed is params["jaxpr"]:
        return [True] * len(eqn.invars), eqn
    if not closed.out_avals and not closed.effects:
        return [False] * len(eqn.invars), None
    outs = tuple(s for s, u in zip(params["out_shardings"], used_outputs, strict=True) if u)
    return used_inputs, eqn.replace(
        params=params | {"jaxpr": closed, "out_shardings": outs},
        invars=[v for v, used in zip(eqn.invars, used_inputs, strict=True) if used],
        outvars=[v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used],
        effects=closed.effects,
    )


DCE: Final = {axes_call_p: _dce}
