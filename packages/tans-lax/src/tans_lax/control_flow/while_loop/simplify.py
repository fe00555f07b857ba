"""Dead code in while loops: carries that neither a result nor the condition needs."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.jaxpr import Eqn
from tans_core.primitive import Primitive
from tans_lax.control_flow.programs import pruned, widened
from tans_lax.control_flow.while_loop import while_p
from tans_lax.control_flow.while_loop.types import effects_of


def _while_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    n_carry = len(body.out_avals)
    small_cond, cond_ins = pruned(cond, [True], [False] * len(cond.in_avals))
    used = [a or b for a, b in zip(used_outputs, cond_ins[n_cond:], strict=True)]
    while True:
        small, body_ins = pruned(body, used, [*[False] * n_body, *used])
        grown = [a or b for a, b in zip(used, body_ins[n_body:], strict=True)]
        if grown == used:
            break
        used = grown
    used_inputs = [*cond_ins[:n_cond], *body_ins[:n_body], *used]
    if all(used_inputs) and small is body:
        return used_inputs, eqn
    # The condition takes every carry that is left, whether it reads it or not.
    index = {i: k for k, i in enumerate(i for i, u in enumerate(cond_ins) if u)}
    wanted = [i for i in range(n_cond) if cond_ins[i]]
    wanted += [n_cond + k for k in range(n_carry) if used[k]]
    new_cond = widened(
        small_cond, [index.get(i) for i in wanted], [cond.in_avals[i] for i in wanted]
    )
    counts = sum(cond_ins[:n_cond]), sum(body_ins[:n_body])
    new = eqn.replace(
        params={
            "cond_jaxpr": new_cond,
            "body_jaxpr": small,
            "cond_nconsts": counts[0],
            "body_nconsts": counts[1],
        },
        invars=[v for v, u in zip(eqn.invars, used_inputs, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        effects=effects_of(new_cond, small, *counts),
    )
    return used_inputs, new


DCE: Final[dict[Primitive, Callable[..., Any]]] = {
    while_p: _while_dce,
}
