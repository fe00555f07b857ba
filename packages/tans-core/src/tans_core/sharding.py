"""Shardings: interning factories, and the Python methods of the C++ classes that need no devices.

`NamedSharding` and `SingleDeviceSharding` are C++ classes because the compiled dispatch path only
recognises those. Tans itself makes them with the factories here, so that dispatch compares by
identity. Methods that ask for devices are attached by tans-xla.
"""

import functools
from collections.abc import Mapping
from typing import Any

from tans_core._jaxlib import GSPMDSharding as GSPMDSharding
from tans_core._jaxlib import NamedSharding as NamedSharding
from tans_core._jaxlib import Sharding as Sharding
from tans_core._jaxlib import SingleDeviceSharding as SingleDeviceSharding
from tans_core.cache import register_cache
from tans_core.mesh import EMPTY_ABSTRACT_MESH, AbstractMesh, Mesh
from tans_core.partition_spec import AxisName, PartitionSpec, partition_axes
from tans_core.spec_check import DuplicateSpecError as DuplicateSpecError
from tans_core.spec_check import check_pspec as check_pspec

type Shape = tuple[int, ...]
type Device = Any


class IndivisibleError(ValueError):
    """A dimension is not divisible by the number of its shards."""


def named_sharding(
    mesh: Mesh | AbstractMesh, spec: PartitionSpec, memory_kind: str | None = None
) -> NamedSharding:
    """Return the one `NamedSharding` of these arguments; raises as `check_pspec` does."""
    key = (spec, memory_kind)
    known = mesh._cache.get(key)
    if known is None:
        known = mesh._cache.setdefault(key, NamedSharding(mesh, spec, memory_kind=memory_kind))
    return known


def abstract_sharding(sharding: NamedSharding) -> NamedSharding:
    """Return the same spec over the abstract mesh, the form that stands in types."""
    return named_sharding(sharding.mesh.abstract_mesh, sharding.spec)


def empty_sharding(ndim: int) -> NamedSharding:
    """Return the sharding of a type outside any mesh: `ndim` dimensions over the empty mesh."""
    return named_sharding(EMPTY_ABSTRACT_MESH, PartitionSpec().padded(ndim))


@functools.lru_cache(maxsize=4096)
def single_device_sharding(device: Device, memory_kind: str | None = None) -> SingleDeviceSharding:
    """Return the one `SingleDeviceSharding` of these arguments."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


register_cache(single_device_sharding.cache_clear, holds_backend=True)


def _is_fully_replicated(self: NamedSharding) -> bool:
    if self.spec.unreduced:
        return False
    positions, sizes = self.mesh.axis_positions, self.mesh.axis_sizes
    return all(
        sizes[positions[axis]] == 1
        for partition in self.spec.partitions
        for axis in partition_axes(partition)
    )


def _replicated_axes(self: NamedSharding) -> frozenset[AxisName]:
    spec = self.spec
    used = {axis for partition in spec.partitions for axis in partition_axes(partition)}
    return frozenset(self.mesh.axis_names) - used - spec.unreduced - spec.reduced


def _check_compatible(self: Any, aval_shape: Shape) -> None:
    """Raise ValueError if an array of this shape has fewer dimensions than the spec."""
    if len(aval_shape) < len(self.spec.partitions):
        raise ValueError(
            f"{self!r} has a spec of {len(self.spec.partitions)} entries, but the array has shape "
            f"{tuple(aval_shape)}; at most {len(aval_shape)} were expected. Shorten the spec."
        )


def _always_compatible(self: Any, aval_shape: Shape) -> None:
    """Accept every shape: one device holds any array."""


def _update(self: NamedSharding, **changes: Any) -> NamedSharding:
    """Return a sharding with the given `mesh`, `spec` or `memory_kind`."""
    spec = changes.pop("spec", self.spec)
    if not isinstance(spec, PartitionSpec):
        spec = PartitionSpec(*spec)
    kind = changes.pop("memory_kind", self._memory_kind)
    mesh = changes.pop("mesh", self.mesh)
    if changes:
        raise TypeError(
            f"NamedSharding.update: unknown arguments {sorted(changes)}, expected mesh, spec or "
            "memory_kind."
        )
    return NamedSharding(mesh, spec, memory_kind=kind)


def _kind_text(sharding: Any) -> str:
    return "" if sharding._memory_kind is None else f", memory_kind={sharding._memory_kind}"


def _named_repr(self: NamedSharding) -> str:
    return f"NamedSharding(mesh={self.mesh}, spec={self.spec!r}{_kind_text(self)})"


def _named_reduce(self: NamedSharding) -> tuple[Any, ...]:
    return named_sharding, (self.mesh, self.spec, self._memory_kind)


def _single_eq(self: SingleDeviceSharding, other: object) -> bool:
    if self is other:
        return True
    if not isinstance(other, SingleDeviceSharding):
        return NotImplemented
    return self._device == other._device and self._memory_kind == other._memory_kind


def _single_hash(self: SingleDeviceSharding) -> int:
    return hash((self._device, self._memory_kind))


def _single_repr(self: SingleDeviceSharding) -> str:
    return f"SingleDeviceSharding(device={self._device!r}{_kind_text(self)})"


def attach(cls: type, members: Mapping[str, Any]) -> None:
    """Set methods and properties on a C++ class."""
    for name, member in members.items():
        setattr(cls, name, member)


attach(Sharding, {"memory_kind": property(lambda self: self._memory_kind)})
attach(
    NamedSharding,
    {
        "__repr__": _named_repr,
        "__reduce__": _named_reduce,
        "check_compatible_aval": _check_compatible,
        "update": _update,
        "with_memory_kind": lambda self, kind: _update(self, memory_kind=kind),
        "is_fully_replicated": property(_is_fully_replicated),
        "replicated_axes": property(_replicated_axes),
        "num_devices": property(lambda self: self.mesh.size),
    },
)
attach(
    SingleDeviceSharding,
    {
        "__repr__": _single_repr,
        "__eq__": _single_eq,
        "__hash__": _single_hash,
        "check_compatible_aval": _always_compatible,
        "with_memory_kind": lambda self, kind: single_device_sharding(self._device, kind),
        "is_fully_replicated": True,
        "num_devices": 1,
    },
)
