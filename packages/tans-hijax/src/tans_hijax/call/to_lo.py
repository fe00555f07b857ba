"""User primitives in low programs: the operations that `expand` runs."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.call.expansion import expanded, refuse_forward_mode


def _call_to_lo(ctx: Any, *args: Any, prim: Any) -> list[Any]:
    return expanded(prim, args)


TO_LO: Final = {hi_call_p: ContextRule(_call_to_lo), hi_lin_p: ContextRule(refuse_forward_mode)}
