"""StableHLO of gathers and scatters: one operation, and what the out-of-bounds mode asks for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, ShapedArray, trace_to_jaxpr
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    default_fill_value,
)
from tans_lax.gather_scatter.primitives import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from tans_lax.gather_scatter.spread import by_device
from tans_lax.slicing.start_indices import fits_dtype
from tans_xla import hlo, hlo_parts
from tans_xla.physical import physical_aval
from tans_xla.sizes import Size, has_symbolic, min_size

type IrValue = Any
type LoweringRule = Callable[..., IrValue]

_BOOL: Final = np.dtype(bool)


def _gather_lower(
    ctx: Any,
    x: IrValue,
    indices: IrValue,
    *,
    dimension_numbers: GatherDimensionNumbers,
    fill_value: Any,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
) -> IrValue:
    attributes = {
        "dimension_numbers": _gather_numbers(dimension_numbers, ctx.avals_in[1].ndim - 1),
        "indices_are_sorted": hlo.boolean(indices_are_sorted),
    }
    out_aval = physical_aval(ctx.avals_out[0])
    kind = hlo.ir_type(out_aval)
    if has_symbolic(slice_sizes):
        operands = (x, indices, hlo.shape_value(slice_sizes))
        out = hlo.op1("stablehlo.dynamic_gather", kind, operands, attributes)
    else:
        attributes["slice_sizes"] = hlo.i64s(slice_sizes)
        out = hlo.op1("stablehlo.gather", kind, (x, indices), attributes)
    if mode is GatherScatterMode.ONE_HOT:
        fill_value = 0
    elif mode is not GatherScatterMode.FILL_OR_DROP:
        return out  # the operation itself moves windows inside
    elif fill_value is None:
        fill_value = default_fill_value(out_aval.dtype)
    operand_aval = physical_aval(ctx.avals_in[0])
    last_starts = _last_starts(
        operand_aval.shape, dimension_numbers.start_index_map, slice_sizes, ctx.avals_in[1].dtype
    )
    if not last_starts:
        return out
    inside = _in_bounds(indices, ctx.avals_in[1], last_starts)
    batch = [d for d in range(out_aval.ndim) if d not in dimension_numbers.offset_dims]
    inside = _spread(inside, out_aval, batch)
    return hlo.select(inside, out, hlo.full(out_aval, fill_value))


def _gather_numbers(numbers: GatherDimensionNumbers, index_vector_dim: int) -> Any:
    fields = {
        "offset_dims": numbers.offset_dims,
        "collapsed_slice_dims": numbers.collapsed_slice_dims,
        "operand_batching_dims": numbers.operand_batching_dims,
        "start_indices_batching_dims": numbers.start_indices_batching_dims,
        "start_index_map": numbers.start_index_map,
    }
    return _numbers("gather", fields, index_vector_dim)


def _numbers(kind: str, fields: Mapping[str, Sequence[int]], index_vector_dim: int) -> Any:
    parts = [f"{name} = {list(dims)}" for name, dims in fields.items() if dims]
    parts.append(f"index_vector_dim = {index_vector_dim}")
    return hlo.attribute(f"#stablehlo.{kind}<{', '.join(parts)}>")


def _last_starts(
    shape: Sequence[Size], mapped: Sequence[int], window: Sequence[Size], dtype: np.dtype
) -> list[Size]:
    """Return the largest start in bounds per mapped dimension, no larger than `dtype` can hold."""
    largest = int(np.iinfo(dtype).max)
    starts = [shape[d] - window[d] for d in mapped]
    return [n if fits_dtype(n, dtype) else min_size(n, largest) for n in starts]


def _clamped(indices: IrValue, aval: ShapedArray, last_starts: list[Size]) -> IrValue:
    """Move index vectors into bounds."""
    scalar = aval.update(shape=())
    low = hlo.full(scalar, 0)
    if len(set(last_starts)) == 1:
        high = hlo_parts.size(last_starts[0], scalar)
    else:
        row = hlo_parts.sizes(last_starts, aval.update(shape=(len(last_starts),)))
        high = row if aval.ndim == 1 else hlo.broadcast_in_dim(row, aval, (aval.ndim - 1,))
    return hlo.op1("stablehlo.clamp", hlo.ir_type(aval), (low, indices, high))


def _in_bounds(indices: IrValue, aval: ShapedArray, last_starts: list[Size]) -> IrValue:
    """Return which index vectors are in bounds: those that clamping leaves as they are."""
    same = hlo.compare(_clamped(indices, aval, last_starts), indices, "EQ")
    batch = ShapedArray(aval.shape[:-1], _BOOL)
    if len(last_starts) == 1:
        return hlo.reshape(same, batch)
    init = hlo.full(ShapedArray((), _BOOL), True)
    (inside,) = hlo.reduce(
        [same], [init], (aval.ndim - 1,), [hlo.ir_type(batch)], lambda a, b: [_and(a, b)]
    )
    return inside


def _and(a: IrValue, b: IrValue) -> IrValue:
    return hlo.op1("stablehlo.and", a.type, (a, b))


def _spread(mask: IrValue, aval: ShapedArray, dims: Sequence[int]) -> IrValue:
    """Repeat a mask over the batch dimensions along the window; a scalar serves select as it is."""
    if not dims or len(dims) == aval.ndim:
        return mask
    return hlo.broadcast_in_dim(mask, aval.update(dtype=_BOOL, weak_type=False), dims)


def _scatter_lower(combine: Callable[[Any, IrValue, IrValue], IrValue]) -> LoweringRule:
    """Make a rule; ``combine(ctx, old, update)`` returns the new element."""

    def emit(
        ctx: Any,
        x: IrValue,
        indices: IrValue,
        updates: IrValue,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        mode: GatherScatterMode,
        unique_indices: bool,
        update_consts: tuple[Any, ...],
        update_jaxpr: Any,
    ) -> IrValue:
        operand_aval, indices_aval, updates_aval = ctx.avals_in
        if mode is GatherScatterMode.CLIP:
            window = dimension_numbers.window_sizes(operand_aval.shape, updates_aval.shape)
            mapped = dimension_numbers.scatter_dims_to_operand_dims
            last = _last_starts(operand_aval.shape, mapped, window, indices_aval.dtype)
            indices = _clamped(indices, indices_aval, last) if last else indices
        dimension_numbers, indices = _with_index(
            dimension_numbers, operand_aval, indices_aval, indices
        )
        attributes = {
            "scatter_dimension_numbers": _scatter_numbers(dimension_numbers, indices_aval.ndim - 1),
            "indices_are_sorted": hlo.boolean(indices_are_sorted),
            "unique_indices": hlo.boolean(unique_indices),
        }
        out = hlo.op("stablehlo.scatter", ctx.result_types, (x, indices, updates), attributes, 1)
        scalar = hlo.tensor_type((), physical_aval(operand_aval).dtype)
        with hlo.block(out, 0, [scalar, scalar]) as (old, update):
            if update_jaxpr is not None:
                hlo.ret(ctx.inline(update_jaxpr, *update_consts, old, update))
            else:
                hlo.ret([combine(ctx, old, update)])
        return out.results[0]

    return by_device(emit)


def _with_index(
    numbers: ScatterDimensionNumbers,
    operand: ShapedArray,
    aval: ShapedArray,
    indices: IrValue,
) -> tuple[ScatterDimensionNumbers, IrValue]:
    """Give empty index vectors a component that is 0.

    XLA takes a scatter without index components for an elementwise operation, although all its
    windows lie at the same place.
    """
    free = [d for d in range(operand.ndim) if d not in numbers.operand_batching_dims]
    if numbers.scatter_dims_to_operand_dims or aval.ndim == 1 or not free:
        return numbers, indices
    indices = hlo.zeros(aval.update(shape=(*aval.shape[:-1], 1)))
    return numbers._replace(scatter_dims_to_operand_dims=(free[0],)), indices


def _scatter_numbers(numbers: ScatterDimensionNumbers, index_vector_dim: int) -> Any:
    fields = {
        "update_window_dims": numbers.update_window_dims,
        "inserted_window_dims": numbers.inserted_window_dims,
        "input_batching_dims": numbers.operand_batching_dims,
        "scatter_indices_batching_dims": numbers.scatter_indices_batching_dims,
        "scatter_dims_to_operand_dims": numbers.scatter_dims_to_operand_dims,
    }
    return _numbers("scatter", fields, index_vector_dim)


def _replaced(ctx: Any, old: IrValue, update: IrValue) -> IrValue:
    return update


def _operation(name: str) -> Callable[[Any, IrValue, IrValue], IrValue]:
    return lambda ctx, old, update: hlo.op1(name, old.type, (old, update))


def _extremum(name: str, function: str) -> Callable[[Any, IrValue, IrValue], IrValue]:
    def combine(ctx: Any, old: IrValue, update: IrValue) -> IrValue:
        dtype = ctx.avals_in[0].dtype
        if not isinstance(dtype, np.dtype) or dtype.kind != "c":
            return hlo.op1(name, old.type, (old, update))
        # Complex numbers are ordered by real, then imaginary part; StableHLO has no such order.
        scalar = ShapedArray((), dtype)
        body = trace_to_jaxpr(lambda a, b: [getattr(lax, function)(a, b)], [scalar, scalar])
        return ctx.inline(body, old, update)[0]

    return combine


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    gather_p: _gather_lower,
    scatter_p: _scatter_lower(_replaced),
    scatter_add_p: _scatter_lower(_operation("stablehlo.add")),
    scatter_sub_p: _scatter_lower(_operation("stablehlo.subtract")),
    scatter_mul_p: _scatter_lower(_operation("stablehlo.multiply")),
    scatter_min_p: _scatter_lower(_extremum("stablehlo.minimum", "min")),
    scatter_max_p: _scatter_lower(_extremum("stablehlo.maximum", "max")),
}
