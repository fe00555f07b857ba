"""Dead-code elimination through a tagged call."""

from collections.abc import Sequence
from typing import Final

from tans_compiler.operation_tags import xla_metadata_call_p
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Eqn


def _call_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    body = eqn.params["jaxpr"]
    closed, used_inputs = dce_jaxpr(body, used_outputs)
    if closed is body:
        return [True] * len(eqn.invars), eqn
    if not closed.out_avals and not closed.effects:
        return [False] * len(eqn.invars), None
    return used_inputs, eqn.replace(
        params=eqn.params | {"jaxpr": closed},
        invars=[v for v, used in zip(eqn.invars, used_inputs, strict=True) if used],
        outvars=[v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used],
        effects=closed.effects,
    )


DCE: Final = {xla_metadata_call_p: _call_dce}
