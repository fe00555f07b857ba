"""StableHLO of named operations, and of the index of the platform."""

from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Primitive
from tans_lax.composites import ArrayAttribute, composite_p
from tans_lax.composites.platforms import platform_index_p
from tans_xla import hlo

type IrValue = Any


def _composite_lower(
    ctx: Any,
    *operands: IrValue,
    call_jaxpr: ClosedJaxpr,
    name: str,
    version: int,
    attributes: tuple[tuple[str, Any], ...],
) -> list[IrValue]:
    symbol = None if call_jaxpr.effects else ctx.function(name, call_jaxpr)
    if symbol is None:
        return ctx.inline(call_jaxpr, *operands)
    fields = {
        "name": hlo.string(name),
        "decomposition": hlo.ir.FlatSymbolRefAttr.get(symbol),
        "version": hlo.i32(version),
        "composite_attributes": hlo.ir.DictAttr.get(
            {key: _attribute(value) for key, value in attributes if value is not None}
        ),
    }
    return list(hlo.op("stablehlo.composite", ctx.result_types, operands, fields).results)


def _attribute(value: Any) -> Any:
    if isinstance(value, ArrayAttribute):
        return hlo.dense(value.value)
    if isinstance(value, tuple):
        return hlo.array([_attribute(item) for item in value])
    if isinstance(value, str):
        return hlo.string(value)
    if isinstance(value, bool | np.bool_):
        return hlo.boolean(bool(value))
    if isinstance(value, int | np.integer):
        return hlo.i64(int(value))
    if isinstance(value, float | np.floating):
        return hlo.ir.FloatAttr.get(hlo.scalar_type(np.dtype("float64")), float(value))
    if isinstance(value, np.dtype | type):
        return hlo.ir.TypeAttr.get(hlo.scalar_type(np.dtype(value)))
    raise TypeError(
        f"composite: given the attribute {value!r} of type {type(value).__name__}, expected a "
        "number, a string, None, a NumPy array or a sequence of these. Pass arrays that the "
        "program computes by position."
    )


def _platform_index_lower(ctx: Any, *, platforms: tuple[tuple[str, ...] | None, ...]) -> IrValue:
    found = {
        next((i for i, names in enumerate(platforms) if names is None or p in names), None)
        for p in ctx.platforms
    }
    if len(found) != 1 or None in found:
        raise NotImplementedError(
            f"platform_dependent: given the platforms {', '.join(ctx.platforms)}, expected them "
            f"among one of {platforms}. Pass default=, or lower for one platform at a time."
        )
    return hlo.full(ctx.avals_out[0], next(iter(found)))


LOWERING: Final[dict[Primitive, Any]] = {
    composite_p: _composite_lower,
    platform_index_p: _platform_index_lower,
}
