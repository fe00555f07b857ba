"""Lowering: the body in place, with constraints along the axes that are Explicit inside."""

from typing import Any, Final

from tans_core.explicit_mode import type_sharding
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
    triples = zip(outs, ctx.avals_out, out_shardings, strict=True)
    return [x if s is None else _leave(x, aval, before) for x, aval, s in triples]


def _leave(x: Value, aval: Any, mesh: Any) -> Value:
    """Constrain a result to its type outside.

    The compiler may have sharded the operation that computed it in any way, so the value is whole
    before it is taken apart: asking that operation for addends aborts the partitioner of jaxlib
    0.12.0 when its operands don't fit.
    """
    sharding = getattr(aval, "_sharding", None)
    if sharding is not None and sharding.spec.unreduced:
        spec = sharding.spec.update(unreduced=frozenset(), unreduced_kind=None)
        whole = aval.update(sharding=type_sharding(sharding.mesh, spec, aval.ndim))
        (x,) = constrained([x], [whole], mesh)
    return constrained([x], [aval], mesh)[0]


LOWERING: Final = {axes_call_p: _lower}
