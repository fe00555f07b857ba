"""Evaluation of a call with a batching rule of the user's own: its body, step by step."""

from collections.abc import Callable
from typing import Any, Final

from tans_batching.custom import custom_vmap_call_p
from tans_core import ClosedJaxpr, Primitive, eval_closed


def _call_evaluate(*args: Any, call: ClosedJaxpr, **params: Any) -> list[Any]:
    del params
    return eval_closed(call, *args)


EVALUATION: Final[dict[Primitive, Callable[..., Any]]] = {
    custom_vmap_call_p: _call_evaluate,
}
