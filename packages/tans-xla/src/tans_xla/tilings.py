"""From mesh and spec to the compiler's sharding.

The compiler describes a sharding as a tiling: the number of shards per dimension, followed by one
trailing entry per group of devices that do not split the array (replicated, unreduced or manual),
and the order in which mesh axes fill these entries.
"""

import math
from typing import Any, Final

from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec, UnreducedKind, partition_axes
from tans_xla._jaxlib import HloSharding, OpSharding

REPLICATED: Final = HloSharding.replicate()
_Kind: Final = OpSharding.Type
_REDUCTIONS: Final = {UnreducedKind.max: 1, UnreducedKind.min: 2}  # sum is the default


def make_hlo_sharding(mesh: Any, spec: PartitionSpec, ndim: int) -> HloSharding:
    """Return the compiler's sharding of an array with `ndim` dimensions.

    Args:
      mesh: concrete or abstract mesh.
      spec: a checked spec with at most `ndim` entries; unconstrained entries count as not sharded.
      ndim: rank of the array.
    """
    if mesh.size <= 1:
        return REPLICATED
    positions, sizes = mesh.axis_positions, mesh.axis_sizes
    tiles, order = [1] * ndim, []
    for dim, partition in enumerate(spec.partitions):
        for axis in partition_axes(partition):
            order.append(positions[axis])
            tiles[dim] *= sizes[positions[axis]]
    used = set(order)
    groups = _trailing_groups(mesh, spec, used)
    if not used and len(groups) == 1:
        return _whole(groups[0][0], spec)
    for _, axes in groups:
        order += axes
        tiles.append(math.prod(sizes[i] for i in axes))
    sharding = HloSharding.iota_tile(
        dims=tiles,
        reshape_dims=list(sizes),
        transpose_perm=order,
        subgroup_types=[kind for kind, _ in groups],
    )
    return _with_reduction(sharding, spec)


def _trailing_groups(mesh: Any, spec: PartitionSpec, used: set[int]) -> list[tuple[Any, list[int]]]:
    groups: dict[Any, list[int]] = {_Kind.UNREDUCED: [], _Kind.MANUAL: [], _Kind.REPLICATED: []}
    for i, (name, axis_type) in enumerate(zip(mesh.axis_names, mesh.axis_types, strict=True)):
        if i in used:
            continue
        if name in spec.unreduced:
            groups[_Kind.UNREDUCED].append(i)
        elif axis_type is AxisType.Manual:
            groups[_Kind.MANUAL].append(i)
        else:
            groups[_Kind.REPLICATED].append(i)
    return [(kind, axes) for kind, axes in groups.items() if axes]


def _whole(kind: Any, spec: PartitionSpec) -> HloSharding:
    if kind == _Kind.REPLICATED:
        return REPLICATED
    if kind == _Kind.MANUAL:
        return HloSharding.manual()
    return _with_reduction(HloSharding.unreduced(), spec)


def _with_reduction(sharding: HloSharding, spec: PartitionSpec) -> HloSharding:
    kind = spec.unreduced_kind
    operation = None if kind is None else _REDUCTIONS.get(kind)
    if operation is not None:
        sharding.set_reduction_op(operation)
    return sharding


def same_hlo_sharding(a: HloSharding, b: HloSharding) -> bool:
    """Whether two compiler shardings place data alike."""
    if a.is_replicated() and b.is_replicated():
        return True
    return a == b


def shard_counts(hlo: HloSharding, ndim: int) -> tuple[int, ...]:
    """Return the number of shards along each of `ndim` dimensions."""
    if hlo.is_replicated() or hlo.is_unreduced() or hlo.is_manual() or hlo.is_maximal():
        return (1,) * ndim
    return tuple(hlo.tile_assignment_dimensions()[:ndim])
