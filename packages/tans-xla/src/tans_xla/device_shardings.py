"""The methods of shardings that ask for devices: sets, slices per device, equivalence.

They are attached to the C++ classes; `tans_core.sharding` attaches those that need no devices.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any, Final

from tans_core.cache import register_cache
from tans_core.sharding import (
    GSPMDSharding,
    IndivisibleError,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    attach,
)
from tans_xla._jaxlib import Device, DeviceList
from tans_xla.tilings import REPLICATED, make_hlo_sharding, same_hlo_sharding, shard_counts

type Shape = tuple[int, ...]
type Index = tuple[slice, ...]


def has_devices(sharding: Sharding) -> bool:
    """Whether the sharding is over devices rather than over an abstract mesh."""
    return type(sharding) is not NamedSharding or sharding.mesh._internal_device_list is not None


def _devices(sharding: Sharding, what: str) -> DeviceList:
    if not has_devices(sharding):
        raise ValueError(
            f"{what} of {sharding!r}: its mesh has no devices. Use a sharding over a concrete Mesh."
        )
    return sharding._internal_device_list


def _device_assignment(self: Sharding) -> tuple[Device, ...]:
    return tuple(_devices(self, "the devices"))


def _device_set(self: Sharding) -> set[Device]:
    return set(_devices(self, "device_set"))


def _addressable_devices(self: Sharding) -> set[Device]:
    return set(_devices(self, "addressable_devices").addressable_device_list)


def _is_fully_addressable(self: Sharding) -> bool:
    return _devices(self, "is_fully_addressable").is_fully_addressable


def _named_hlo(self: NamedSharding, ndim: int) -> Any:
    cache: dict[Any, Any] = self.__dict__
    hlo = cache.get(ndim)
    if hlo is None:
        cache[ndim] = hlo = make_hlo_sharding(self.mesh, self.spec, ndim)
    return hlo


def _shard_shape(self: Any, global_shape: Shape) -> Shape:
    """Return the shape of one device's part of an array of `global_shape`.

    Raises:
      ValueError: the spec is longer than the shape.
      IndivisibleError: a dimension is not divisible by the number of its shards.
    """
    shape = tuple(global_shape)
    self.check_compatible_aval(shape)
    counts = shard_counts(self._to_xla_hlo_sharding(len(shape)), len(shape))
    for dim, (size, count) in enumerate(zip(shape, counts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"{self!r} splits dimension {dim} of an array of shape {shape} into {count} "
                f"shards, but its size {size} is not divisible by {count}; expected shards that "
                "evenly divide it. Pad the array, or leave "
                "this dimension out of the spec."
            )
    return tuple(size // count for size, count in zip(shape, counts, strict=True))


def device_indices(hlo: Any, shape: Shape, num_devices: int) -> list[Index]:
    """Return each device's slices of an array of `shape`, in device order.

    Every sharded dimension must be divisible by its number of shards.
    """
    counts = shard_counts(hlo, len(shape))
    whole = tuple(slice(None) for _ in shape)
    if all(count == 1 for count in counts):
        return [whole] * num_devices
    steps = [size // count for size, count in zip(shape, counts, strict=True)]
    copies = num_devices // math.prod(counts)
    indices: list[Index] = [whole] * num_devices
    for slot, device in enumerate(hlo.tile_assignment_devices()):
        tile, index = slot // copies, []
        for count, step in zip(reversed(counts), reversed(steps), strict=True):
            tile, position = divmod(tile, count)
            part = slice(position * step, (position + 1) * step)
            index.append(slice(None) if count == 1 else part)
        indices[device] = tuple(reversed(index))
    return indices


@functools.lru_cache(maxsize=1024)
def _indices_map(sharding: Sharding, shape: Shape) -> Mapping[Device, Index]:
    if getattr(getattr(sharding, "spec", None), "unreduced", None):
        raise NotImplementedError(
            f"devices_indices_map of {sharding!r}: an unreduced array is a sum of addends and has "
            "no slice per device. Use reshard to reduce it first."
        )
    sharding.shard_shape(shape)
    devices = _devices(sharding, "devices_indices_map")
    hlo = sharding._to_xla_hlo_sharding(len(shape))
    return dict(zip(devices, device_indices(hlo, shape, len(devices)), strict=True))


register_cache(_indices_map.cache_clear, holds_backend=True)


def _devices_indices_map(self: Sharding, global_shape: Shape) -> Mapping[Device, Index]:
    """Return each device's slices of an array of `global_shape`."""
    return dict(_indices_map(self, tuple(global_shape)))


def _addressable_indices_map(self: Sharding, global_shape: Shape) -> Mapping[Device, Index]:
    """Return the slices of this process's devices."""
    here = _addressable_devices(self)
    indices = _indices_map(self, tuple(global_shape))
    return {device: index for device, index in indices.items() if device in here}


def _is_equivalent_to(self: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether both place an array of rank `ndim` alike, device by device."""
    if self is other:
        return True
    if not (has_devices(self) and has_devices(other)):
        return self == other
    return (
        self._internal_device_list == other._internal_device_list
        and self.memory_kind == other.memory_kind
        and same_hlo_sharding(self._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim))
    )


def _gspmd_eq(self: GSPMDSharding, other: object) -> bool:
    if not isinstance(other, GSPMDSharding):
        return NotImplemented
    return self is other or (
        self._internal_device_list == other._internal_device_list
        and self._hlo_sharding == other._hlo_sharding
        and self.memory_kind == other.memory_kind
    )


def _gspmd_hash(self: GSPMDSharding) -> int:
    return hash((self._internal_device_list, str(self._hlo_sharding), self.memory_kind))


def _gspmd_repr(self: GSPMDSharding) -> str:
    return f"GSPMDSharding({self._hlo_sharding}, memory_kind={self.memory_kind})"


_COMMON: Final[dict[str, Any]] = {
    "device_set": property(_device_set),
    "addressable_devices": property(_addressable_devices),
    "is_fully_addressable": property(_is_fully_addressable),
    "_device_assignment": property(_device_assignment),
    "devices_indices_map": _devices_indices_map,
    "addressable_devices_indices_map": _addressable_indices_map,
    "is_equivalent_to": _is_equivalent_to,
    "shard_shape": _shard_shape,
}
_GSPMD: Final[dict[str, Any]] = {
    "__eq__": _gspmd_eq,
    "__hash__": _gspmd_hash,
    "__repr__": _gspmd_repr,
    "_to_xla_hlo_sharding": lambda self, ndim: self._hlo_sharding,
    "check_compatible_aval": lambda self, shape: None,
    "is_fully_replicated": property(lambda self: self._hlo_sharding.is_replicated()),
    "num_devices": property(lambda self: len(self._internal_device_list)),
}
attach(Sharding, _COMMON)
attach(NamedSharding, {"_to_xla_hlo_sharding": _named_hlo})
attach(SingleDeviceSharding, {"_to_xla_hlo_sharding": lambda self, ndim: REPLICATED})
attach(GSPMDSharding, _GSPMD)
