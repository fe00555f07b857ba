"""Result types of a call with a batching rule of the user's own."""

from collections.abc import Callable
from typing import Any, Final

from tans_batching.custom import custom_vmap_call_p
from tans_core import AbstractValue, ClosedJaxpr, Primitive, Typed


def _call_type(*avals: AbstractValue, call: ClosedJaxpr, **params: Any) -> Any:
    del avals, params
    return Typed(call.out_avals, call.effects) if call.effects else call.out_avals


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    custom_vmap_call_p: _call_type,
}
