"""Lowering of operations that join, part and pad arrays."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive
from tans_lax.concatenation import concatenate_p, pad_p, split_p, stack_p, tile_p, unstack_p
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_xla import hlo

type Dims = tuple[int, ...]
type Config = tuple[tuple[int, int, int], ...]


def _concatenate_lower(ctx: Any, *operands: IrValue, dimension: int) -> IrValue:
    attrs = {"dimension": hlo.i64(dimension)}
    return hlo.op1("stablehlo.concatenate", ctx.result_type, operands, attrs)


def _split_lower(ctx: Any, x: IrValue, *, sizes: Dims, axis: int) -> list[IrValue]:
    (aval,) = ctx.avals_in
    start = 0
    out = []
    for size, kind in zip(sizes, ctx.result_types, strict=True):
        out.append(_slice(x, aval, axis, start, start + size, kind))
        start += size
    return out


def _slice(x: IrValue, aval: Any, axis: int, start: int, stop: int, kind: Any) -> IrValue:
    starts = [0] * aval.ndim
    limits = list(aval.shape)
    starts[axis], limits[axis] = start, stop
    attrs = {
        "start_indices": hlo.i64s(starts),
        "limit_indices": hlo.i64s(limits),
        "strides": hlo.i64s([1] * aval.ndim),
    }
    return hlo.op1("stablehlo.slice", kind, [x], attrs)


def _pad_lower(ctx: Any, x: IrValue, value: IrValue, *, padding_config: Config) -> IrValue:
    if ctx.avals_in[1].ndim:
        return _pad_elements(ctx, x, value, padding_config)
    return _pad(ctx.result_type, x, value, padding_config)


def _pad(kind: Any, x: IrValue, value: IrValue, config: Config) -> IrValue:
    low, high, inner = zip(*config, strict=True) if config else ((), (), ())
    attrs = {
        "edge_padding_low": hlo.i64s(low),
        "edge_padding_high": hlo.i64s(high),
        "interior_padding": hlo.i64s(inner),
    }
    return hlo.op1("stablehlo.pad", kind, [x, value], attrs)


def _pad_elements(ctx: Any, x: IrValue, value: IrValue, config: Config) -> IrValue:
    """Pad with an element that is a small array: pad a mask, and choose by it."""
    aval, value_aval = ctx.avals_in
    (out,) = ctx.avals_out
    mask_in, mask_out = aval.update(dtype=bool), out.update(dtype=bool)
    false = hlo.full(mask_in.update(shape=()), False)
    mask = _pad(hlo.ir_type(mask_out), hlo.full(mask_in, True), false, config)
    padded = _pad(ctx.result_type, x, hlo.full(aval.update(shape=()), 0), config)
    around = hlo.broadcast_in_dim(value, out, range(out.ndim - value_aval.ndim, out.ndim))
    return hlo.select(mask, padded, around)


def _stack_lower(ctx: Any, *operands: IrValue, axis: int) -> IrValue:
    (out,) = ctx.avals_out
    single = _single(out, axis)
    parts = ctx.constrain([hlo.reshape(x, single) for x in operands], [single] * len(operands))
    if len(parts) == 1:
        return parts[0]
    attrs = {"dimension": hlo.i64(axis)}
    return hlo.op1("stablehlo.concatenate", ctx.result_type, parts, attrs)


def _unstack_lower(ctx: Any, x: IrValue, *, axis: int) -> list[IrValue]:
    (aval,) = ctx.avals_in
    single = _single(aval, axis)
    kind = hlo.ir_type(single)
    parts = [_slice(x, aval, axis, i, i + 1, kind) for i in range(len(ctx.avals_out))]
    parts = ctx.constrain(parts, [single] * len(parts))
    return [hlo.reshape(x, out) for x, out in zip(parts, ctx.avals_out, strict=True)]


def _single(aval: Any, axis: int) -> Any:
    """Return the type of one of several stacked values, with its dimension of size 1."""
    shape = (*aval.shape[:axis], 1, *aval.shape[axis + 1 :])
    sharding = aval.sharding if aval.is_sharded else None
    return aval.update(shape=shape, sharding=sharding)


def _tile_lower(ctx: Any, x: IrValue, *, reps: Dims) -> IrValue:
    """Repeat along new dimensions in front of each, then merge them."""
    aval, out = ctx.avals_in[0], ctx.avals_out[0]
    apart: Sequence[int] = [n for pair in zip(reps, aval.shape, strict=False) for n in pair]
    inner = aval.shape[len(reps) :]
    spread = aval.update(shape=(*apart, *inner))
    places = [2 * i + 1 for i in range(len(reps))]
    places += range(len(apart), len(apart) + len(inner))
    return hlo.reshape(hlo.broadcast_in_dim(x, spread, places), out)


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    concatenate_p: _concatenate_lower,
    split_p: _split_lower,
    pad_p: _pad_lower,
    stack_p: _stack_lower,
    unstack_p: _unstack_lower,
    tile_p: _tile_lower,
}
