"""Lowering of operations that join, part and pad arrays."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive
from tans_lax.concatenation import concatenate_p, pad_p, split_p, stack_p, tile_p, unstack_p
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_xla import hlo, hlo_parts
from tans_xla.sizes import Size

type Dims = tuple[int, ...]
type Config = tuple[tuple[int, int, int], ...]


def _concatenate_lower(ctx: Any, *operands: IrValue, dimension: int) -> IrValue:
    attrs = {"dimension": hlo.i64(dimension)}
    return hlo.op1("stablehlo.concatenate", ctx.result_type, operands, attrs)


def _split_lower(ctx: Any, x: IrValue, *, sizes: Dims, axis: int) -> list[IrValue]:
    (aval,) = ctx.avals_in
    start: Size = 0
    parts = []
    for size, out in zip(sizes, ctx.avals_out, strict=True):
        parts.append(_slice(x, aval, axis, start, start + size, out))
        start += size
    return parts


def _slice(x: IrValue, aval: Any, axis: int, start: Size, stop: Size, out: Any) -> IrValue:
    starts = [0] * aval.ndim
    limits = list(aval.shape)
    starts[axis], limits[axis] = start, stop
    return hlo_parts.slice_between(x, out, starts, limits)


def _pad_lower(ctx: Any, x: IrValue, value: IrValue, *, padding_config: Config) -> IrValue:
    if ctx.avals_in[1].ndim:
        return _pad_elements(ctx, x, value, padding_config)
    return hlo_parts.pad(x, value, ctx.avals_out[0], padding_config)


def _pad_elements(ctx: Any, x: IrValue, value: IrValue, config: Config) -> IrValue:
    """Pad with an element that is a small array: pad a mask, and choose by it."""
    aval, value_aval = ctx.avals_in
    (out,) = ctx.avals_out
    mask_in, mask_out = aval.update(dtype=bool), out.update(dtype=bool)
    false = hlo.full(mask_in.update(shape=()), False)
    mask = hlo_parts.pad(hlo.full(mask_in, True), false, mask_out, config)
    padded = hlo_parts.pad(x, hlo.full(aval.update(shape=()), 0), out, config)
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
    parts = [_slice(x, aval, axis, i, i + 1, single) for i in range(len(ctx.avals_out))]
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
