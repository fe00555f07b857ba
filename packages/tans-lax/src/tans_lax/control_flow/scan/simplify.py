"""Dead code in scans: carries that no result needs go, with what they alone needed."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.jaxpr import Eqn
from tans_core.primitive import Primitive
from tans_lax.control_flow.programs import pruned
from tans_lax.control_flow.scan import scan_p


def _scan_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    params = eqn.params
    body, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    used_carry, used_ys = list(used_outputs[:num_carry]), list(used_outputs[num_carry:])
    n_rest = len(body.in_avals) - num_consts - num_carry
    while True:
        keep = [*[False] * num_consts, *used_carry, *[False] * n_rest]
        small, used = pruned(body, [*used_carry, *used_ys], keep)
        read = used[num_consts : num_consts + num_carry]
        grown = [a or b for a, b in zip(used_carry, read, strict=True)]
        if grown == used_carry:
            break
        used_carry = grown
    if not small.out_avals and not small.effects:
        return [False] * len(used), None
    if small is body:
        return [True] * len(used), eqn
    kept_outs = [*used_carry, *used_ys]
    new = eqn.replace(
        params={
            **params,
            "jaxpr": small,
            "num_consts": sum(used[:num_consts]),
            "num_carry": sum(used_carry),
        },
        invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, kept_outs, strict=True) if u],
        effects=small.effects,
    )
    return list(used), new


DCE: Final[dict[Primitive, Callable[..., Any]]] = {
    scan_p: _scan_dce,
}
