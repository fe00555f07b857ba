"""The shardings of results: those asked for, and those that the compiler chose."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.config import concrete_mesh
from tans_core.explicit_mode import spec_of
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import GSPMDSharding, NamedSharding, named_sharding, single_device_sharding
from tans_xla._jaxlib import DeviceList, HloSharding
from tans_xla.placement import Placement
from tans_xla.tilings import make_hlo_sharding, same_hlo_sharding

_WHOLE: Final = PartitionSpec()


def result_shardings(
    loaded: Any,
    placement: Placement,
    requested: Sequence[Any],
    avals: Sequence[Any],
    num_tokens: int,
    in_avals: Sequence[Any],
) -> list[Any]:
    """Return one sharding per result.

    What the compiler chose has the spec of the first argument of the same rank that is sharded
    alike, so that specs are written as the user writes them: P("i", None) or P("i").
    """
    devices = placement.devices
    if len(devices) == 1:
        single = single_device_sharding(devices[0])
        return [single if r is None else r for r in requested]
    if all(r is not None for r in requested):
        return list(requested)
    chosen = loaded.get_output_shardings() or []
    mesh = placement.mesh
    if mesh is None:
        mesh = next((r.mesh for r in requested if isinstance(r, NamedSharding)), None)
    if mesh is None:
        context = concrete_mesh.value
        if context is not None and tuple(context._internal_device_list) == tuple(devices):
            mesh = context
    given = [
        (aval.ndim, s)
        for aval, s in zip(in_avals, placement.in_shardings, strict=True)
        if isinstance(s, NamedSharding) and s.mesh == mesh
    ]
    return [
        r
        if r is not None
        else _as_given(from_op_sharding(op, mesh, devices, a.ndim, spec_of(a)), a.ndim, given)
        for r, op, a in zip(requested, chosen[num_tokens:], avals, strict=True)
    ]


def _as_given(found: Any, ndim: int, given: Sequence[tuple[int, Any]]) -> Any:
    """Return the first given sharding that only writes the trailing Nones of the spec otherwise."""
    if not isinstance(found, NamedSharding):
        return found
    padded = found.spec.padded(ndim)
    return next(
        (
            s
            for n, s in given
            if n == ndim and s.spec.padded(n) == padded and s.memory_kind == found.memory_kind
        ),
        found,
    )


def from_op_sharding(
    op: Any, mesh: Any, devices: Sequence[Any], ndim: int, own: PartitionSpec = _WHOLE
) -> Any:
    """Return the `NamedSharding` over `mesh` that equals a compiled sharding.

    The spec in the value's type, `own`, says along which axes it is unreduced and reduced. Without
    a mesh, or when no spec fits, the result is a `GSPMDSharding`.
    """
    hlo = HloSharding.from_proto(op)
    if mesh is not None:
        if hlo.is_replicated():
            return named_sharding(mesh, PartitionSpec(reduced=own.reduced))
        spec = find_spec(hlo, mesh, ndim, own)
        if spec is not None:
            return named_sharding(mesh, spec)
    return GSPMDSharding(DeviceList(tuple(devices)), op)


def find_spec(
    hlo: HloSharding, mesh: Any, ndim: int, own: PartitionSpec = _WHOLE
) -> PartitionSpec | None:
    """Return the spec over `mesh`, unreduced and reduced as `own`, that makes `hlo`, or None.

    Candidates are built dimension by dimension from mesh axes whose sizes multiply to the number
    of shards; meshes have few axes, so the search is short.
    """
    counts = hlo.tile_assignment_dimensions()[:ndim]
    states = own.unreduced | own.reduced
    pairs = zip(mesh.axis_names, mesh.axis_sizes, strict=True)
    sizes = {name: size for name, size in pairs if name not in states}
    for parts in _candidates(list(counts), sizes):
        length = max((d + 1 for d, part in enumerate(parts) if part is not None), default=0)
        spec = own.update(partitions=parts[:length])
        if same_hlo_sharding(make_hlo_sharding(mesh, spec, ndim), hlo):
            return spec
    return None


def _candidates(counts: list[int], sizes: dict[Any, int]) -> Any:
    if not counts:
        yield ()
        return
    for axes in _products(counts[0], sizes):
        rest = {name: size for name, size in sizes.items() if name not in axes}
        part = None if not axes else axes[0] if len(axes) == 1 else axes
        for tail in _candidates(counts[1:], rest):
            yield (part, *tail)


def _products(count: int, sizes: dict[Any, int]) -> Any:
    if count == 1:
        yield ()
        return
    for name, size in sizes.items():
        if size > 1 and count % size == 0:
            others = {n: s for n, s in sizes.items() if n != name}
            for tail in _products(count // size, others):
                yield (name, *tail)
