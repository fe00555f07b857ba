"""Lowering of a call with a batching rule of the user's own: its body, in place."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_batching.custom import custom_vmap_call_p
from tans_core import ClosedJaxpr, Primitive


def _call_lower(ctx: Any, *operands: Any, call: ClosedJaxpr, **params: Any) -> Sequence[Any]:
    del params
    return ctx.inline(call, *operands)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    custom_vmap_call_p: _call_lower,
}
