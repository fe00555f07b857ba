"""Evaluation of user primitives on concrete values: `expand` runs operation by operation."""

from typing import Any, Final

from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.call.expansion import expanded, refuse_forward_mode


def _call(*args: Any, prim: Any) -> list[Any]:
    return expanded(prim, args)


EVALUATION: Final = {hi_call_p: _call, hi_lin_p: refuse_forward_mode}
