"""Lowering: the body in place, with constraints along the axes that are Explicit inside."""

from typing import Any, Final

from tans_core.mesh import AxisType
from tans_lax.axis_types import axes_call_p
from tans_xla.explicit_shardings import constrained
from tans_xla.lowering import LoweringContext, places_results

type Value = Any  # ir.Value


@places_results
def _lower(
    ctx: LoweringContext, *operands: Value, jaxpr: Any, mesh: Any, out_shardings: Any, **_: Any
) -> list[Value]:
    builder = ctx.builder
    before = builder.mesh
    explicit = mesh.size > 1 and AxisType.Explicit in mesh.axis_types
    builder.mesh = mesh if explicit else None
    try:
        if explicit:
            operands = tuple(constrained(operands, jaxpr.in_avals, mesh))
        outs = ctx.inline(jaxpr, *operands)
    finally:
        builder.mesh = before
    if before is None:
        return outs
    return [
        x if sharding is None else constrained([x], [aval], before)[0]
        for x, aval, sharding in zip(outs, ctx.avals_out, out_shardings, strict=True)
    ]


LOWERING: Final = {axes_call_p: _lower}
