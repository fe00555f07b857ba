"""Callbacks on refs: printing shows the value that a ref holds at that point."""

from typing import Any, Final

from tans_xla.callbacks import debug_callback_p
from tans_xla.discharge import DischargeContext, Updates

type Value = Any


def _debug_discharge(
    ctx: DischargeContext, *operands: Value, **params: Any
) -> tuple[list[Value], Updates]:
    del ctx
    return debug_callback_p.bind(*operands, **params), {}


DISCHARGE: Final = {debug_callback_p: _debug_discharge}
