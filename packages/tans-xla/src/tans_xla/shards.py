"""The pieces of an array: one `Shard` per device, and arrays built from pieces."""

from collections.abc import Sequence
from typing import Any

from tans_core.sharding import IndivisibleError
from tans_xla._jaxlib import ArrayImpl, Device
from tans_xla.startup import device_arrays


class Shard:
    """One device's part of an array.

    Attributes:
      device: where the part is.
      index: tuple of slices of the whole array.
      replica_id: 0 for the first device that holds this index, 1 for the next, and so on.
      data: the part as a single-device array; None on devices of other processes.
    """

    __slots__ = ("_data", "_global_shape", "_sharding", "device", "replica_id")

    def __init__(
        self, device: Device, array: ArrayImpl, data: ArrayImpl | None, replica: int
    ) -> None:
        self.device = device
        self.replica_id = replica
        self._sharding = array._sharding
        self._global_shape = array.aval.shape
        self._data = data

    @property
    def index(self) -> tuple[slice, ...]:
        """Slices of the whole array that this part holds."""
        if getattr(getattr(self._sharding, "spec", None), "unreduced", None):
            return tuple(slice(None) for _ in self._global_shape)
        return self._sharding.devices_indices_map(self._global_shape)[self.device]

    @property
    def data(self) -> ArrayImpl | None:
        """The part as a single-device array."""
        return self._data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def _replicas(array: ArrayImpl) -> dict[Device, int]:
    """Return for each device how many before it hold the same index."""
    sharding = array._sharding
    if getattr(getattr(sharding, "spec", None), "unreduced", None):
        return dict.fromkeys(sharding._internal_device_list, 0)
    seen: dict[Any, int] = {}
    replicas = {}
    for device, index in sharding.devices_indices_map(array.aval.shape).items():
        key = tuple((part.start, part.stop) for part in index)
        replicas[device] = seen.get(key, 0)
        seen[key] = replicas[device] + 1
    return replicas


def addressable_shards(array: ArrayImpl) -> list[Shard]:
    """The parts on this process's devices, in device order."""
    replicas = _replicas(array)
    devices = array._sharding._internal_device_list.addressable_device_list
    pieces = device_arrays(array)
    return [Shard(d, array, p, replicas[d]) for d, p in zip(devices, pieces, strict=True)]


def global_shards(array: ArrayImpl) -> list[Shard]:
    """The parts on all devices; those of other processes have no data."""
    if array._sharding.is_fully_addressable:
        return addressable_shards(array)
    here = {shard.device: shard for shard in addressable_shards(array)}
    return [here.get(d) or Shard(d, array, None, r) for d, r in _replicas(array).items()]


def addressable_data(array: ArrayImpl, index: int) -> ArrayImpl:
    """Return the piece number `index` on this process's devices as a single-device array."""
    return device_arrays(array)[index]


def check_and_rearrange(arrays: Sequence[ArrayImpl], sharding: Any, aval: Any) -> list[ArrayImpl]:
    """Check per-device arrays against the whole's type and return them in device order.

    Raises:
      ValueError: wrong devices, shapes or dtypes.
    """
    expected = sharding._internal_device_list.addressable_device_list
    by_device = {array._sharding._internal_device_list[0]: array for array in arrays}
    if len(by_device) != len(arrays) or set(by_device) != set(expected):
        raise ValueError(
            f"arrays on devices {[a.device for a in arrays]} were given for a sharding over "
            f"{list(expected)}: one array per device of this process was expected. "
            "Place each piece with device_put(piece, device)."
        )
    try:
        shape = sharding.shard_shape(aval.shape)
    except IndivisibleError as error:
        raise ValueError(str(error)) from None
    for array in arrays:
        if array.aval.shape != shape or array.aval.dtype != aval.dtype:
            raise ValueError(
                f"a piece of type {array.aval.str_short()} on {array.device} was given, expected "
                f"shape {shape} and dtype {aval.dtype}: the array has shape {aval.shape} and "
                f"sharding {sharding!r}. Cut the pieces with sharding.devices_indices_map(shape)."
            )
    return [by_device[device] for device in expected]
