"""Lowering of shard_map: a manual computation."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import ClosedJaxpr
from tans_core.explicit_mode import spec_of
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import named_sharding
from tans_sharding.shard_mapping.boundary import inner_mesh, restricted
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_xla import hlo
from tans_xla.lowering import LoweringContext
from tans_xla.sdy_attributes import constrain, manual_computation

type Value = Any  # ir.Value


def _shard_map_lower(
    ctx: LoweringContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    newly_manual_axes: frozenset[Any],
    check_vma: bool,
    **_: Any,
) -> list[Value]:
    builder, outer = ctx.builder, ctx.builder.mesh
    mesh = mesh.abstract_mesh
    builder.mesh = inner_mesh(mesh, newly_manual_axes)
    known, builder.varying_known = builder.varying_known, check_vma
    try:
        if mesh.size == 1:
            return ctx.inline(jaxpr, *operands)
        ins = [
            _sharding(mesh, newly_manual_axes, s, a)
            for s, a in zip(in_specs, jaxpr.in_avals, strict=True)
        ]
        outs = [
            _sharding(mesh, newly_manual_axes, s, a)
            for s, a in zip(out_specs, jaxpr.out_avals, strict=True)
        ]
        operands = tuple(
            constrain(x, s) if s.spec.unreduced else x for x, s in zip(operands, ins, strict=True)
        )
        region = manual_computation(
            ctx.result_types, operands, ins, outs, sorted(newly_manual_axes, key=str), mesh
        )
        with region.block([hlo.ir_type(a) for a in jaxpr.in_avals]) as parts:
            region.ret(ctx.inline(jaxpr, *parts))
        return region.results
    finally:
        builder.mesh = outer
        builder.varying_known = known


def _sharding(mesh: Any, axes: frozenset[Any], spec: PartitionSpec, aval: Any) -> Any:
    """Return how a value lies outside: by its spec, over other axes by its type."""
    ndim = getattr(aval, "ndim", 0)
    rest = frozenset(mesh.explicit_axes) - axes
    own = restricted(spec_of(aval), rest).padded(ndim)
    entries = [
        (*partition_axes(a), *partition_axes(b))
        for a, b in zip(spec.padded(ndim).partitions, own.partitions, strict=True)
    ]
    unreduced = spec.unreduced | own.unreduced
    kind = (spec.unreduced_kind or own.unreduced_kind) if unreduced else None
    merged = PartitionSpec(*entries, unreduced=unreduced, unreduced_kind=kind)
    return named_sharding(mesh, merged)


LOWERING: Final = {
    shard_map_p: _shard_map_lower,
}
