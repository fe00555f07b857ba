"""Dead-code elimination through checkpointed calls."""

from collections.abc import Sequence
from typing import Final

from tans_autodiff.remat import remat_p
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Eqn


def _remat_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    closed, used_inputs = dce_jaxpr(eqn.params["jaxpr"], used_outputs)
    if not closed.out_avals and not closed.effects:
        return [False] * len(eqn.invars), None
    return used_inputs, eqn.replace(
        params=eqn.params | {"jaxpr": closed},
        invars=[v for v, used in zip(eqn.invars, used_inputs, strict=True) if used],
        outvars=[v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used],
        effects=closed.effects,
    )


DCE: Final = {remat_p: _remat_dce}
