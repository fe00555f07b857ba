"""Calls with a batching rule of the user's own, on refs: their bodies in place."""

from typing import Any, Final

from tans_batching.custom import custom_vmap_call_p
from tans_xla.discharge import inline_rule

DISCHARGE: Final[dict[Any, Any]] = {custom_vmap_call_p: inline_rule("call")}
