"""Placement of values of user types: of each of their parts."""

from typing import Any, Final

from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_xla.transfer import device_put_p


def _device_put_to_lo(ctx: Any, *args: Any, **params: Any) -> list[Any]:
    avals = [typeof(x) for x in args]
    spread = {name: tuple(ctx.spread(avals, values)) for name, values in params.items()}
    return ctx.raised(avals, device_put_p.bind(*ctx.lowered(avals, args), **spread))


TO_LO: Final = {device_put_p: ContextRule(_device_put_to_lo)}
