"""Sharding rules of operations that join, part and pad arrays."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.concatenation import concatenate_p, pad_p, split_p, stack_p, tile_p, unstack_p
from tans_lax.propagation import (
    Rule,
    Spec,
    entries_of,
    refuse_unreduced,
    require_equal,
    require_unsharded,
    resized,
    states_like,
)


def _concatenate(ctx: ShardingContext, *avals: Any, dimension: int) -> Spec:
    del dimension
    return require_equal(ctx, avals)


def _split(ctx: ShardingContext, x: Any, *, sizes: Any, axis: int) -> list[Spec]:
    del sizes, axis
    return [resized(ctx, x, out) for out in ctx.out_avals]


def _pad(ctx: ShardingContext, x: Any, value: Any, *, padding_config: Any) -> Spec:
    del value, padding_config
    return resized(ctx, x, ctx.out)


def _stack(ctx: ShardingContext, *avals: Any, axis: int) -> Spec:
    common = require_equal(ctx, avals)
    entries = list(common.partitions)
    entries.insert(axis, None)
    return states_like(avals[0], entries)


def _unstack(ctx: ShardingContext, x: Any, *, axis: int) -> list[Spec]:
    require_unsharded(ctx, x, [axis], "Reshard the operand to leave that dimension whole.")
    entries = entries_of(x)
    del entries[axis]
    return [states_like(x, entries)] * len(ctx.out_avals)


def _tile(ctx: ShardingContext, x: Any, *, reps: Any) -> Spec:
    repeated = [d for d, n in enumerate(reps) if n != 1]
    require_unsharded(ctx, x, repeated, "Reshard the operand to leave that dimension whole.")
    refuse_unreduced(ctx, x)
    return spec_of(x)


SHARDING: Final[dict[Primitive, Rule]] = {
    concatenate_p: _concatenate,
    split_p: _split,
    pad_p: _pad,
    stack_p: _stack,
    unstack_p: _unstack,
    tile_p: _tile,
}
