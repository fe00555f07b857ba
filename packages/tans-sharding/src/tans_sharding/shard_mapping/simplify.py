"""Dead-code elimination through shard_map."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Eqn
from tans_lax.control_flow.memo import BodyMemo
from tans_sharding.shard_mapping.primitive import shard_map_p

_PRUNED: Final[BodyMemo[Any]] = BodyMemo()


def _shard_map_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    params: dict[str, Any] = eqn.params
    body, used = params["jaxpr"], tuple(used_outputs)

    def prune() -> Any:
        small, used_inputs = dce_jaxpr(body, used)
        return (None if small is body else small), used_inputs

    small, used_inputs = _PRUNED.get(body, (used,), prune)
    if small is None:
        return [True] * len(eqn.invars), eqn
    if not small.out_avals and not small.effects:
        return [False] * len(eqn.invars), None

    def kept(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
        return [x for x, m in zip(values, mask, strict=True) if m]

    new = params | {
        "jaxpr": small,
        "in_specs": tuple(kept(params["in_specs"], used_inputs)),
        "out_specs": tuple(kept(params["out_specs"], used)),
    }
    return list(used_inputs), eqn.replace(
        params=new,
        invars=kept(eqn.invars, used_inputs),
        outvars=kept(eqn.outvars, used),
        effects=small.effects,
    )


DCE: Final = {
    shard_map_p: _shard_map_dce,
}
