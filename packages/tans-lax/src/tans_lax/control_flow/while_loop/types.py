"""Types of while: those of the carry."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.refs import moved_effects
from tans_core.rules import Typed
from tans_core.types import AbstractValue, same_but_weak
from tans_lax.control_flow.carry import shown
from tans_lax.control_flow.while_loop import while_p


def _while_type(
    *in_avals: AbstractValue,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    carry = in_avals[cond_nconsts + body_nconsts :]
    _check("cond_jaxpr input", (*in_avals[:cond_nconsts], *carry), cond_jaxpr.in_avals)
    _check("body_jaxpr input", in_avals[cond_nconsts:], body_jaxpr.in_avals)
    _check("carry result", body_jaxpr.out_avals, carry)
    predicate: Any = cond_jaxpr.out_avals[0]
    if len(cond_jaxpr.out_avals) != 1 or predicate.shape or predicate.dtype != np.bool_:
        raise TypeError(
            f"while: the condition has results of types "
            f"{', '.join(map(shown, cond_jaxpr.out_avals))}, expected bool[]. Reduce it to one "
            "boolean."
        )
    effects = effects_of(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts)
    outs = list(body_jaxpr.out_avals)
    return Typed(outs, effects) if effects else outs


def effects_of(
    cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> frozenset[Any]:
    """Return the effects of a loop; those on refs are on constants, because none is carried."""
    of_body = moved_effects(body_jaxpr.effects, range(cond_nconsts, cond_nconsts + body_nconsts))
    return moved_effects(cond_jaxpr.effects, range(cond_nconsts)) | of_body


def _check(what: str, given: Any, expected: Any) -> None:
    if len(given) != len(expected):
        raise TypeError(
            f"while: given {len(given)} values as {what}s, expected {len(expected)}. Bind while_p "
            "with the condition's constants, the body's, and the carry."
        )
    for i, (a, b) in enumerate(zip(given, expected, strict=True)):
        if not same_but_weak(a, b):
            raise TypeError(
                f"while: {what} {i} has type {shown(a)}, expected {shown(b)}. Trace the functions "
                "with the types of the carry."
            )


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    while_p: _while_type,
}
