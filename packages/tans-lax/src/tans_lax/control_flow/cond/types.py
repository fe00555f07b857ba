"""Types of cond: those of its branches."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.refs import moved_effects
from tans_core.rules import Typed
from tans_core.types import AbstractValue, same_but_weak
from tans_lax.control_flow.carry import shown
from tans_lax.control_flow.cond import active_lanes_p, cond_p


def _cond_type(
    index: Any, *in_avals: AbstractValue, branches: tuple[ClosedJaxpr, ...], **params: Any
) -> Any:
    del params
    if index.shape != () or index.dtype != np.int32:
        raise TypeError(
            f"cond: index has type {shown(index)}, expected int32[]. Convert it, and map or reduce "
            "arrays of indices."
        )
    for b, branch in enumerate(branches):
        _check(f"operand of branch {b}", in_avals, branch.in_avals)
        _check(f"result of branch {b}", branch.out_avals, branches[0].out_avals)
    weak = [
        all(getattr(a, "weak_type", False) for a in column)
        for column in zip(*(b.out_avals for b in branches), strict=True)
    ]
    outs = [a if w else a.strong() for a, w in zip(branches[0].out_avals, weak, strict=True)]
    effects = effects_of(branches)
    return Typed(outs, effects) if effects else outs


def effects_of(branches: tuple[ClosedJaxpr, ...]) -> frozenset[Any]:
    """Return the effects of a cond, whose first operand is the index."""
    effects = frozenset[Any]().union(*(b.effects for b in branches))
    if not effects:
        return effects
    return moved_effects(effects, range(1, 1 + len(branches[0].in_avals)))


def _check(what: str, given: Any, expected: Any) -> None:
    if len(given) != len(expected):
        raise TypeError(
            f"cond: given {len(given)} values as {what}, expected {len(expected)}. Trace all "
            "branches with the operands' types."
        )
    for i, (a, b) in enumerate(zip(given, expected, strict=True)):
        if not same_but_weak(a, b):
            raise TypeError(
                f"cond: {what}, number {i}, has type {shown(a)}, expected {shown(b)}. Trace all "
                "branches with the operands' types, and make them return equal types."
            )


def _active_lanes_type(active: Any, x: Any) -> AbstractValue:
    if active.dtype != np.bool_ or x.shape[: active.ndim] != active.shape:
        raise TypeError(
            f"active_lanes: mask {shown(active)} for a value {shown(x)}, expected booleans with "
            "the value's leading dimensions. Move the mapped dimension to the front."
        )
    return x


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    cond_p: _cond_type,
    active_lanes_p: _active_lanes_type,
}
