"""The TPU compiler's approximate search; an exact one elsewhere."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, ShapedArray, trace_to_jaxpr
from tans_lax.approximate_top_k import approx_top_k_p
from tans_xla import hlo
from tans_xla.lowering import ByPlatform, lower_as

type IrValue = Any
type Value = Any


def _exact(ctx: Any, x: IrValue, **params: Any) -> list[IrValue]:
    """Return the extreme elements themselves: exact ones are approximate ones too."""
    kept = ctx.avals_out[0].shape[params["reduction_dimension"]]

    def search(x: Value) -> tuple[Value, Value]:
        largest = x if params["is_max_k"] else lax.neg(x)
        values, indices = lax.top_k(largest, kept, axis=params["reduction_dimension"])
        return (values if params["is_max_k"] else lax.neg(values)), indices

    return lower_as(search)(ctx, x)


def _in_compiler(ctx: Any, x: IrValue, **params: Any) -> list[IrValue]:
    (aval,) = ctx.avals_in
    largest = params["is_max_k"]
    scalar, place = ShapedArray((), aval.dtype), ShapedArray((), np.dtype("int32"))

    def precedes(a: Value, b: Value, i: Value, j: Value) -> list[Value]:
        del i, j
        return [lax.gt(a, b) if largest else lax.lt(a, b)]

    body = trace_to_jaxpr(precedes, [scalar, scalar, place, place])
    symbol = ctx.function("top_k_comparator", body)
    if symbol is None:
        return _exact(ctx, x, **params)
    axis = params["reduction_dimension"] % aval.ndim
    config = {
        "top_k": hlo.i64(params["k"]),
        "reduction_dim": hlo.i64(axis),
        "recall_target": hlo.attribute(f"{np.float32(params['recall_target'])} : f32"),
        "reduction_input_size_override": hlo.i64(params["reduction_input_size_override"]),
        "aggregate_to_topk": hlo.boolean(params["aggregate_to_topk"]),
    }
    attributes = {
        "call_target_name": hlo.string("ApproxTopK"),
        "api_version": hlo.i32(4),
        "called_computations": hlo.array([hlo.ir.FlatSymbolRefAttr.get(symbol)]),
        "backend_config": hlo.ir.DictAttr.get(config),
    }
    places = hlo.iota(aval.update(dtype=np.dtype("int32")), axis)
    none = hlo.full(scalar, -np.inf if largest else np.inf)
    operands = (x, places, none, hlo.full(place, -1))
    return list(hlo.op("stablehlo.custom_call", ctx.result_types, operands, attributes).results)


LOWERING: Final[dict[Primitive, Any]] = {
    approx_top_k_p: ByPlatform(default=_exact, tpu=_in_compiler),
}
