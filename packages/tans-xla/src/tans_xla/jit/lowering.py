"""Lowering of a nested jit: a call of one shared function, or its equations in place."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import ClosedJaxpr
from tans_core.sharding import NamedSharding
from tans_xla.jit.primitive import jit_p
from tans_xla.jit.signature import Inline
from tans_xla.lowering import LoweringContext
from tans_xla.sdy_attributes import constrain

type Value = Any  # ir.Value


def _jit_lower(
    ctx: LoweringContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    name: str,
    inline: Inline,
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    **_: Any,
) -> list[Value]:
    operands = tuple(_constrained(operands, in_shardings))
    if inline in (Inline.JAX_EARLY, Inline.JAX_LATE):
        outs = ctx.inline(jaxpr, *operands)
    else:
        wish = None if inline is Inline.AUTO else (("inlineable", inline.value),)
        outs = ctx.call(name, jaxpr, *operands, metadata=wish)
    return _constrained(outs, out_shardings)


def _constrained(values: Sequence[Value], shardings: Sequence[Any]) -> list[Value]:
    return [
        constrain(x, s) if isinstance(s, NamedSharding) and s.mesh.size > 1 else x
        for x, s in zip(values, shardings, strict=True)
    ]


LOWERING: Final = {jit_p: _jit_lower}
