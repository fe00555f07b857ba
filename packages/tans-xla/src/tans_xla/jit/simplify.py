"""Dead-code elimination through a nested jit."""

from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from tans_core.cache import register_cache
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import ClosedJaxpr, Eqn
from tans_xla.jit.primitive import jit_p

type Pruned = tuple[ClosedJaxpr, list[bool]]

# Pruned bodies keep their identity, so that equal calls still lower to one function.
_pruned: Final[WeakKeyDictionary[ClosedJaxpr, dict[tuple[bool, ...], Pruned]]] = WeakKeyDictionary()
register_cache("pruned jit bodies", _pruned.clear)


def _prune(body: ClosedJaxpr, used: tuple[bool, ...]) -> Pruned | None:
    """Return the pruned body, or None when nothing can be removed."""
    table = _pruned.setdefault(body, {})
    found = table.get(used)
    if found is None:
        closed, used_inputs = dce_jaxpr(body, used)
        if closed is body:
            return None
        found = table.setdefault(used, (closed, used_inputs))
    return found


def _jit_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    params: dict[str, Any] = eqn.params
    found = _prune(params["jaxpr"], tuple(used_outputs))
    if found is None:
        return [True] * len(eqn.invars), eqn
    closed, used_inputs = found
    if params["keep_unused"] and all(used_outputs) and not all(used_inputs):
        closed, used_inputs = dce_jaxpr(params["jaxpr"], used_outputs, instantiate=True)
    if not closed.out_avals and not closed.effects:
        return [False] * len(eqn.invars), None
    new = params | {
        "jaxpr": closed,
        **{
            key: tuple(x for x, used in zip(params[key], used_inputs, strict=True) if used)
            for key in ("donated_invars", "in_shardings")
        },
        "out_shardings": tuple(
            x for x, used in zip(params["out_shardings"], used_outputs, strict=True) if used
        ),
    }
    return used_inputs, eqn.replace(
        params=new,
        invars=[v for v, used in zip(eqn.invars, used_inputs, strict=True) if used],
        outvars=[v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used],
        effects=closed.effects,
    )


DCE: Final = {jit_p: _jit_dce}
