"""Batching of mapped functions: the batched function, mapped in the same way.

A batch dimension that is sharded over a mapped axis is one more dimension of parts: inside, the
batch is smaller, and its values vary along that axis.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_core.context import BatchContext, Dims
from tans_core.errors import message
from tans_core.hi_types import HiPspec
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.rules import ContextRule
from tans_sharding.shard_mapping.boundary import spec_axes
from tans_sharding.shard_mapping.derivatives import bind_mapped, mapping_of
from tans_sharding.shard_mapping.primitive import shard_map_p

type Value = Any


def _shard_map_batch(
    ctx: BatchContext, axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any
) -> tuple[list[Value], Sequence[int | None]]:
    mapping = mapping_of(params)
    entry = _batch_entry(axis, mapping.axes)
    sizes = mapping.outer.shape
    count = math.prod(sizes[a] for a in entry)
    if axis.size % count:
        raise ValueError(
            message(
                "vmap of shard_map",
                f"a mapped axis of size {axis.size} to shard over {entry!r} of size {count}",
                "a size that the mesh axes evenly divide",
                "Leave out spmd_axis_name, or pad the batch.",
            )
        )
    rest = tuple(a for a in partition_axes(axis.explicit_mesh_axis) if a not in mapping.axes)
    inner = axis._replace(
        size=axis.size // count,
        explicit_mesh_axis=rest or None,
        explicit_mesh=mapping.mesh if rest else None,
        spmd_name=None if entry else axis.spmd_name,
        varies_along=axis.varies_along | frozenset(entry if mapping.check else ()),
    )
    with mapping.inside():
        body, dims_out = ctx.batch_jaxpr(params["jaxpr"], inner, tuple(dims))
    specs = [_with_batch(s, d, entry) for s, d in zip(params["in_specs"], dims, strict=True)]
    outs = [_with_batch(s, d, entry) for s, d in zip(params["out_specs"], dims_out, strict=True)]
    return bind_mapped(shard_map_p.bind, body, args, params, specs, outs), dims_out


def _batch_entry(axis: AxisData, mapped: frozenset[Any]) -> tuple[Any, ...]:
    named = partition_axes(axis.explicit_mesh_axis) or partition_axes(axis.spmd_name)
    return tuple(a for a in named if a in mapped)


def _with_batch(spec: PartitionSpec, dim: int | None, entry: tuple[Any, ...]) -> PartitionSpec:
    if dim is None:
        return spec
    if isinstance(spec, HiPspec):
        raise NotImplementedError(
            message(
                "vmap of shard_map",
                f"a value of a user type with the spec {spec!r}, mapped along {dim!r}",
                "arrays as arguments and results: only the type knows its spec with one more axis",
                "Make the value inside of the shard_map, or move the vmap inside.",
            )
        )
    if spec_axes(spec) & frozenset(entry):
        raise ValueError(
            message(
                "vmap of shard_map",
                f"a batch sharded over {entry!r} and the spec {spec!r}",
                "a spec that does not name those axes",
                "Shard the batch over another axis.",
            )
        )
    entries = list(spec.partitions) + [None] * (dim - len(spec.partitions))
    entries.insert(dim, entry)
    return spec.update(partitions=tuple(entries))


BATCHING: Final[dict[Primitive, ContextRule[Any]]] = {
    shard_map_p: ContextRule(_shard_map_batch),
}
