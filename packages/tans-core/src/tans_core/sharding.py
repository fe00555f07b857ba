"""Shardings of arrays: the Python methods of the C++ classes, and the interning factories.

`NamedSharding` and `SingleDeviceSharding` are C++ classes because the compiled dispatch path only
recognises those. This module attaches what C++ leaves out. `named_sharding` is the interning
factory that Tans itself uses, so that dispatch compares by identity.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from tans_core import hlo_sharding
from tans_core._jaxlib import GSPMDSharding, NamedSharding, Sharding, SingleDeviceSharding
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


def _abstract_error(sharding: Any, what: str) -> ValueError:
    return ValueError(
        f"{what} of {sharding!r}: its mesh has no devices. Use a sharding over a concrete Mesh."
    )


def _devices(sharding: Any, what: str = "the devices") -> Any:
    if getattr(getattr(sharding, "mesh", None), "_internal_device_list", 0) is None:
        raise _abstract_error(sharding, what)
    return sharding._internal_device_list


def _device_assignment(self: Any) -> tuple[Device, ...]:
    return tuple(_devices(self))


def _device_set(self: Any) -> set[Device]:
    return set(_devices(self, "device_set"))


def _addressable_devices(self: Any) -> set[Device]:
    return set(_devices(self, "addressable_devices").addressable_device_list)


def _is_fully_addressable(self: Any) -> bool:
    return _devices(self, "is_fully_addressable").is_fully_addressable


def _num_devices(self: Any) -> int:
    return len(_devices(self, "num_devices"))


def _named_num_devices(self: NamedSharding) -> int:
    return self.mesh.size


def _named_hlo(self: NamedSharding, ndim: int) -> Any:
    cache = self.__dict__
    hlo = cache.get(ndim)
    if hlo is None:
        cache[ndim] = hlo = hlo_sharding.make_hlo_sharding(self.mesh, self.spec, ndim)
    return hlo


def _single_hlo(self: Any, ndim: int) -> Any:
    return hlo_sharding._HloSharding.replicate()


def _gspmd_hlo(self: Any, ndim: int) -> Any:
    return self._hlo_sharding


def _shard_shape(self: Any, global_shape: Shape) -> Shape:
    """Return the shape of one device's part of an array of `global_shape`.

    Raises:
      ValueError: the spec is longer than the shape.
      IndivisibleError: a dimension is not divisible by the number of its shards.
    """
    shape = tuple(global_shape)
    if not shape or isinstance(self, SingleDeviceSharding):
        self.check_compatible_aval(shape)
        return shape
    self.check_compatible_aval(shape)
    counts = hlo_sharding.shard_counts(self._to_xla_hlo_sharding(len(shape)), len(shape))
    for dim, (size, count) in enumerate(zip(shape, counts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"{self!r} splits dimension {dim} of an array of shape {shape} into {count} "
                f"shards, but its size {size} is not divisible by {count}. Pad the array, or leave "
                "this dimension out of the spec."
            )
    return tuple(size // count for size, count in zip(shape, counts, strict=True))


@functools.lru_cache(maxsize=1024)
def _indices_map(sharding: Any, shape: Shape) -> Mapping[Device, tuple[slice, ...]]:
    if getattr(getattr(sharding, "spec", None), "unreduced", None):
        raise NotImplementedError(
            f"devices_indices_map of {sharding!r}: an unreduced array is a sum of addends and has "
            "no slice per device. Use reshard to reduce it first."
        )
    sharding.shard_shape(shape)
    devices = _devices(sharding, "devices_indices_map")
    hlo = sharding._to_xla_hlo_sharding(len(shape))
    indices = hlo_sharding.device_indices(hlo, shape, len(devices))
    return dict(zip(devices, indices, strict=True))


def _devices_indices_map(self: Any, global_shape: Shape) -> Mapping[Device, tuple[slice, ...]]:
    """Return each device's slices of an array of `global_shape`."""
    return dict(_indices_map(self, tuple(global_shape)))


def _addressable_indices_map(self: Any, global_shape: Shape) -> Mapping[Device, tuple[slice, ...]]:
    """Return the slices of this process's devices."""
    here = self.addressable_devices
    indices = _indices_map(self, tuple(global_shape))
    return {device: index for device, index in indices.items() if device in here}


def _named_is_fully_replicated(self: NamedSharding) -> bool:
    if self.spec.unreduced:
        return False
    sizes = self.mesh.axis_positions, self.mesh.axis_sizes
    return all(
        sizes[1][sizes[0][axis]] == 1
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


def _is_equivalent_to(self: Any, other: Any, ndim: int) -> bool:
    """Whether both place an array of rank `ndim` alike, device by device."""
    if self is other:
        return True
    abstract = [
        getattr(getattr(s, "mesh", None), "_internal_device_list", 0) for s in (self, other)
    ]
    if any(devices is None for devices in abstract):
        return self == other
    return (
        self._internal_device_list == other._internal_device_list
        and self.memory_kind == other.memory_kind
        and hlo_sharding.same_hlo_sharding(
            self._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim)
        )
    )


def _named_update(self: NamedSharding, **changes: Any) -> NamedSharding:
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


def _named_repr(self: NamedSharding) -> str:
    kind = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
    return f"NamedSharding(mesh={self.mesh}, spec={self.spec!r}{kind})"


def _named_reduce(self: NamedSharding) -> tuple[Any, ...]:
    return named_sharding, (self.mesh, self.spec, self._memory_kind)


def _single_key(self: SingleDeviceSharding) -> tuple[Any, ...]:
    return self._device, self._memory_kind


def _single_eq(self: SingleDeviceSharding, other: object) -> bool:
    if self is other:
        return True
    if not isinstance(other, SingleDeviceSharding):
        return NotImplemented
    return _single_key(self) == _single_key(other)


def _single_hash(self: SingleDeviceSharding) -> int:
    return hash(_single_key(self))


def _single_repr(self: SingleDeviceSharding) -> str:
    kind = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
    return f"SingleDeviceSharding(device={self._device!r}{kind})"


def _gspmd_key(self: GSPMDSharding) -> tuple[Any, ...]:
    return self._internal_device_list, self._hlo_sharding, self.memory_kind


def _gspmd_eq(self: GSPMDSharding, other: object) -> bool:
    if not isinstance(other, GSPMDSharding):
        return NotImplemented
    return self is other or _gspmd_key(self) == _gspmd_key(other)


def _gspmd_hash(self: GSPMDSharding) -> int:
    return hash((self._internal_device_list, str(self._hlo_sharding), self.memory_kind))


def _memory_kind(self: Any) -> str | None:
    return self._memory_kind


def _attach(cls: type, members: Mapping[str, Any]) -> None:
    for name, member in members.items():
        setattr(cls, name, member)


def _properties(**getters: Callable[[Any], Any]) -> dict[str, property]:
    return {name: property(getter) for name, getter in getters.items()}


_COMMON: Final[dict[str, Any]] = {
    "shard_shape": _shard_shape,
    "devices_indices_map": _devices_indices_map,
    "addressable_devices_indices_map": _addressable_indices_map,
    "is_equivalent_to": _is_equivalent_to,
    **_properties(
        device_set=_device_set,
        addressable_devices=_addressable_devices,
        is_fully_addressable=_is_fully_addressable,
        num_devices=_num_devices,
        memory_kind=_memory_kind,
        _device_assignment=_device_assignment,
    ),
}

register_cache(single_device_sharding.cache_clear, holds_backend=True)
register_cache(_indices_map.cache_clear, holds_backend=True)
_attach(Sharding, _COMMON)
_attach(
    NamedSharding,
    {
        "__repr__": _named_repr,
        "__reduce__": _named_reduce,
        "_to_xla_hlo_sharding": _named_hlo,
        "check_compatible_aval": _check_compatible,
        "update": _named_update,
        "with_memory_kind": lambda self, kind: _named_update(self, memory_kind=kind),
        **_properties(
            is_fully_replicated=_named_is_fully_replicated,
            replicated_axes=_replicated_axes,
            num_devices=_named_num_devices,
        ),
    },
)
_attach(
    SingleDeviceSharding,
    {
        "__repr__": _single_repr,
        "__eq__": _single_eq,
        "__hash__": _single_hash,
        "_to_xla_hlo_sharding": _single_hlo,
        "check_compatible_aval": _always_compatible,
        "with_memory_kind": lambda self, kind: single_device_sharding(self._device, kind),
        **_properties(is_fully_replicated=lambda self: True, num_devices=lambda self: 1),
    },
)
_attach(
    GSPMDSharding,
    {
        "__eq__": _gspmd_eq,
        "__hash__": _gspmd_hash,
        "_to_xla_hlo_sharding": _gspmd_hlo,
        "check_compatible_aval": _always_compatible,
        **_properties(is_fully_replicated=lambda self: self._hlo_sharding.is_replicated()),
    },
)
