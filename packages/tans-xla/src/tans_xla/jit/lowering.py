"""Lowering of a nested jit: a call of one shared function, or its equations in place."""

from typing import Any, Final

from tans_xla.jit.primitive import jit_p
from tans_xla.lowering import LoweringContext


def _jit_lower(
    ctx: LoweringContext, *operands: Any, jaxpr: Any, name: str, inline: bool, **_: Any
) -> list[Any]:
    return ctx.inline(jaxpr, *operands) if inline else ctx.call(name, jaxpr, *operands)


LOWERING: Final = {jit_p: _jit_lower}
