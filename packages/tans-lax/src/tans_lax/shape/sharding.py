"""Sharding rules of operations that arrange elements anew."""

from math import prod
from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, entries_of, linear_unary, requested_spec, states_like
from tans_lax.shape import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p

type Dims = tuple[int, ...]


def _broadcast_in_dim(
    ctx: ShardingContext, x: Any, *, shape: Dims, broadcast_dimensions: Dims, sharding: Any
) -> Spec:
    entries = entries_of(x)
    out: list[Any] = [None] * len(shape)
    for d, at in enumerate(broadcast_dimensions):
        # A dimension of size 1 that is repeated has nothing to shard.
        out[at] = entries[d] if x.shape[d] == shape[at] else None
    if sharding is None:
        return states_like(x, out)
    spec = requested_spec(ctx, sharding, len(shape))
    for at, own in enumerate(out):
        if own is not None and spec.partitions[at] != own:
            ctx.refuse(
                f"and the sharding {spec!r}, which contradicts that of the operand in dimension "
                f"{at}; expected {own!r} there. Reshard the operand first.",
                ValueError,
            )
    if spec_of(x).unreduced and spec.unreduced != spec_of(x).unreduced:
        ctx.refuse(
            f"and the sharding {spec!r}; expected the operand's unreduced axes in it. Reshard the "
            "operand first.",
            ValueError,
        )
    return spec


def _reshape(
    ctx: ShardingContext, x: Any, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> Spec:
    own = spec_of(x)
    if sharding is not None:
        spec = requested_spec(ctx, sharding, len(new_sizes))
        if (spec.unreduced, spec.reduced) != (own.unreduced, own.reduced):
            ctx.refuse(
                f"and the sharding {spec!r}; expected the same unreduced and reduced axes as the "
                "operand's. Reshard before or after.",
                ValueError,
            )
        return spec
    entries = entries_of(x)
    if all(e is None for e in entries):
        return states_like(x, (None,) * len(new_sizes))
    if dimensions is not None and dimensions != tuple(range(x.ndim)):
        _refuse_reshape(ctx, new_sizes)
    return states_like(x, _reshaped_entries(ctx, x.shape, entries, new_sizes))


def _refuse_reshape(ctx: ShardingContext, new_sizes: Dims) -> Any:
    ctx.refuse(
        f"the sharding of a result of shape {new_sizes} does not follow from the operand's; "
        "expected one sharded dimension to be split or one run to be merged, without moving data. "
        "Give out_sharding."
    )


def _reshaped_entries(ctx: ShardingContext, old: Dims, entries: list[Any], new: Dims) -> list[Any]:
    groups = _groups(old, new)
    changed = [g for g in groups if len(g[0]) != 1 or len(g[1]) != 1]
    out: list[Any] = [None] * len(new)
    if len(changed) > 1:
        _refuse_reshape(ctx, new)
    for sources, targets in groups:
        if len(sources) == 1 and len(targets) == 1:
            out[targets[0]] = entries[sources[0]]
        elif len(sources) == 1:
            _split(ctx, entries[sources[0]], [new[t] for t in targets], targets, out, new)
        elif len(targets) == 1:
            out[targets[0]] = _merged(ctx, [entries[s] for s in sources], new)
        else:
            _refuse_reshape(ctx, new)
    return out


def _groups(old: Dims, new: Dims) -> list[tuple[list[int], list[int]]]:
    """Pair runs of old and new dimensions with equal products; dimensions of size 1 stand alone.

    When leaving out all dimensions of size 1 makes the shapes equal, the rest are paired one to
    one. Otherwise a new dimension of size 1 belongs to the run before the next larger one.
    """
    old_big = [d for d, n in enumerate(old) if n != 1]
    new_big = [d for d, n in enumerate(new) if n != 1]
    if [old[d] for d in old_big] == [new[d] for d in new_big]:
        return [([a], [b]) for a, b in zip(old_big, new_big, strict=True)]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        sources, targets = [i], [j]
        i, j = i + 1, j + 1
        while prod(old[s] for s in sources) != prod(new[t] for t in targets):
            if prod(old[s] for s in sources) < prod(new[t] for t in targets):
                if i == len(old):
                    return [(list(range(len(old))), list(range(len(new))))]
                sources.append(i)
                i += 1
            else:
                if j == len(new):
                    return [(list(range(len(old))), list(range(len(new))))]
                targets.append(j)
                j += 1
        groups.append((sources, targets))
    return groups


def _split(
    ctx: ShardingContext, entry: Any, sizes: list[int], targets: list[int], out: list, new: Dims
) -> None:
    """Hand the axes of a split dimension to the new ones, from the major side."""
    axes = list(partition_axes(entry))
    mesh_sizes = ctx.mesh.shape
    for size, target in zip(sizes, targets, strict=True):
        taken = []
        rest = size
        while axes and rest > 1:
            count = mesh_sizes[axes[0]]
            if rest % count:
                _refuse_reshape(ctx, new)
            rest //= count
            taken.append(axes.pop(0))
        out[target] = tuple(taken) if taken else None
    if axes:
        _refuse_reshape(ctx, new)


def _merged(ctx: ShardingContext, entries: list[Any], new: Dims) -> Any:
    """Concatenate the axes of merged dimensions; unsharded ones may only follow sharded ones."""
    axes: list[Any] = []
    ended = False
    for entry in entries:
        if entry is None:
            ended = True
            continue
        if ended:
            _refuse_reshape(ctx, new)
        axes += partition_axes(entry)
    return tuple(axes) if axes else None


def _transpose(ctx: ShardingContext, x: Any, *, permutation: Dims) -> PartitionSpec:
    del ctx
    entries = entries_of(x)
    return states_like(x, [entries[d] for d in permutation])


def _squeeze(ctx: ShardingContext, x: Any, *, dimensions: Dims) -> PartitionSpec:
    del ctx
    return states_like(x, [e for d, e in enumerate(entries_of(x)) if d not in dimensions])


SHARDING: Final[dict[Primitive, Rule]] = {
    broadcast_in_dim_p: _broadcast_in_dim,
    reshape_p: _reshape,
    transpose_p: _transpose,
    squeeze_p: _squeeze,
    rev_p: linear_unary,
}
