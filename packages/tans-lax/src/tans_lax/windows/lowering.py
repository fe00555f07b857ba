"""StableHLO of windowed reductions and their scatters."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tans_core import ClosedJaxpr, Primitive, ShapedArray
from tans_lax.reductions.lowering import monoid_body
from tans_lax.reductions.monoids import MONOIDS, greatest, least
from tans_lax.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from tans_lax.windows.padding import Padding
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import LoweringContext
from tans_xla.sizes import Size, has_symbolic

type IrValue = Any
type Body = Callable[..., Sequence[IrValue]]
type Sizes = tuple[Size, ...]


class WindowAttributes(NamedTuple):
    """Geometry of a sliding window; each entry has one item for each dimension."""

    dimensions: Sizes
    strides: Sizes
    padding: Padding
    base_dilation: Sizes
    dilation: Sizes


def reduce_window_op(
    ctx: LoweringContext,
    operands: Sequence[IrValue],
    inits: Sequence[IrValue],
    window: WindowAttributes,
    result_types: Sequence[Any],
    body: Body,
) -> list[IrValue]:
    """Build a variadic windowed reduction; ``body(*accumulators, *elements)``."""
    scalars = [x.type for x in (*inits, *inits)]
    sizes = (window.dimensions, window.strides, window.base_dilation, window.dilation)
    if any(map(has_symbolic, (*sizes, *window.padding))):
        builder = ctx.builder
        reducer = builder.unique_name("window_reducer")
        builder.mlir.new_function(reducer, scalars, body, builder.body)
        parts = [*map(hlo.shape_value, sizes), hlo_parts.pairs(window.padding)]
        attributes = {
            "call_target_name": hlo.string("stablehlo.dynamic_reduce_window"),
            "called_computations": hlo.array([hlo.symbol(reducer)]),
            "api_version": hlo.i32(2),
        }
        operands = (*operands, *inits, *parts)
        return list(hlo.op("stablehlo.custom_call", result_types, operands, attributes).results)
    attributes = {
        "window_dimensions": hlo.i64s(window.dimensions),
        "window_strides": hlo.i64s(window.strides),
        "base_dilations": hlo.i64s(window.base_dilation),
        "window_dilations": hlo.i64s(window.dilation),
        "padding": hlo.i64_matrix(window.padding, 2),
    }
    out = hlo.op("stablehlo.reduce_window", result_types, (*operands, *inits), attributes, 1)
    with hlo.block(out, 0, scalars) as args:
        hlo.ret(body(*args))
    return list(out.results)


def _window(params: dict[str, Any]) -> WindowAttributes:
    return WindowAttributes(
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params["base_dilation"],
        params["window_dilation"],
    )


def _named(name: str) -> Callable[..., IrValue]:
    identity = MONOIDS[name].identity

    def lower(ctx: Any, x: IrValue, **params: Any) -> IrValue:
        dtype = ctx.avals_in[0].dtype
        init = hlo.full(ShapedArray((), dtype), identity(dtype))
        body = monoid_body(name, dtype)
        return reduce_window_op(ctx, [x], [init], _window(params), ctx.result_types, body)[0]

    return lower


def _reduce_window_lower(
    ctx: Any, *operands: IrValue, jaxpr: ClosedJaxpr, **params: Any
) -> list[IrValue]:
    count = len(operands) // 2

    def body(*scalars: IrValue) -> Sequence[IrValue]:
        return ctx.inline(jaxpr, *scalars)

    return reduce_window_op(
        ctx, operands[:count], operands[count:], _window(params), ctx.result_types, body
    )


def _direction(select_prim: Primitive) -> str:
    return select_prim.name.upper()


def _worst(select_prim: Primitive, dtype: Any) -> Any:
    """Return the value that a selection never prefers."""
    return least(dtype) if select_prim.name in ("ge", "gt") else greatest(dtype)


def _select_and_gather_add_lower(
    ctx: Any, tangents: IrValue, x: IrValue, *, select_prim: Primitive, **params: Any
) -> IrValue:
    tangent_aval, x_aval = ctx.avals_in
    (out_aval,) = ctx.avals_out

    def body(x: IrValue, t: IrValue, y: IrValue, u: IrValue) -> list[IrValue]:
        left = hlo.compare(x, y, _direction(select_prim))
        return [hlo.select(left, x, y), hlo.select(left, t, u)]

    inits = [
        hlo.full(ShapedArray((), x_aval.dtype), _worst(select_prim, x_aval.dtype)),
        hlo.full(ShapedArray((), tangent_aval.dtype), 0),
    ]
    kinds = [hlo.tensor_type(out_aval.shape, x_aval.dtype), *ctx.result_types]
    return reduce_window_op(ctx, [x, tangents], inits, _window(params), kinds, body)[1]


def _select_and_scatter_op(
    operand: IrValue,
    source: IrValue,
    init: IrValue,
    params: dict[str, Any],
    select: Body,
    scatter: Body,
) -> IrValue:
    out = hlo.op(
        "stablehlo.select_and_scatter",
        [_with_element(operand.type, source.type)],
        (operand, source, init),
        {
            "window_dimensions": hlo.i64s(params["window_dimensions"]),
            "window_strides": hlo.i64s(params["window_strides"]),
            "padding": hlo.i64_matrix(params["padding"], 2),
        },
        regions=2,
    )
    element = hlo.ir.RankedTensorType.get((), hlo.ir.RankedTensorType(operand.type).element_type)
    for region, scalar, body in ((0, element, select), (1, init.type, scatter)):
        with hlo.block(out, region, [scalar, scalar]) as args:
            hlo.ret(body(*args))
    return out.results[0]


def _with_element(shaped: Any, source: Any) -> Any:
    shape = hlo.ir.RankedTensorType(shaped).shape
    return hlo.ir.RankedTensorType.get(shape, hlo.ir.RankedTensorType(source).element_type)


def _select_and_scatter_add_lower(
    ctx: Any, source: IrValue, x: IrValue, *, select_prim: Primitive, **params: Any
) -> IrValue:
    source_aval, x_aval = ctx.avals_in
    (out_aval,) = ctx.avals_out
    padding = params["padding"]
    is_padded = any(pad != (0, 0) for pad in padding)
    if is_padded:
        # Padded positions must lose against every element, also against infinities of the operand.
        x, params = _padded(x, x_aval, select_prim, params)
    zero = hlo.full(ShapedArray((), source_aval.dtype), 0)

    def select(x: IrValue, y: IrValue) -> list[IrValue]:
        return [hlo.compare(x, y, _direction(select_prim))]

    add = monoid_body("sum", source_aval.dtype)
    out = _select_and_scatter_op(x, source, zero, params, select, add)
    if not is_padded:
        return out
    starts = [low for low, _ in padding]
    limits = [start + n for start, n in zip(starts, out_aval.shape, strict=True)]
    return hlo_parts.slice_between(out, out_aval, starts, limits)


def _padded(
    x: IrValue, aval: ShapedArray, select_prim: Primitive, params: dict[str, Any]
) -> tuple[IrValue, dict[str, Any]]:
    padding = params["padding"]
    worst = hlo.full(ShapedArray((), aval.dtype), _worst(select_prim, aval.dtype))
    shape = [n + low + high for n, (low, high) in zip(aval.shape, padding, strict=True)]
    config = [(low, high, 0) for low, high in padding]
    padded = hlo_parts.pad(x, worst, ShapedArray(shape, aval.dtype), config)
    return padded, params | {"padding": ((0, 0),) * aval.ndim}


def _select_and_scatter_lower(
    ctx: Any,
    operand: IrValue,
    source: IrValue,
    init: IrValue,
    *,
    select_jaxpr: ClosedJaxpr,
    scatter_jaxpr: ClosedJaxpr,
    **params: Any,
) -> IrValue:
    return _select_and_scatter_op(
        operand,
        source,
        init,
        params,
        lambda *args: ctx.inline(select_jaxpr, *args),
        lambda *args: ctx.inline(scatter_jaxpr, *args),
    )


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_window_p: _reduce_window_lower,
    reduce_window_sum_p: _named("sum"),
    reduce_window_max_p: _named("max"),
    reduce_window_min_p: _named("min"),
    select_and_scatter_p: _select_and_scatter_lower,
    select_and_scatter_add_p: _select_and_scatter_add_lower,
    select_and_gather_add_p: _select_and_gather_add_lower,
}
