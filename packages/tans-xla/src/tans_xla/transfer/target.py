"""Where a value should go: the `device` argument of transfers, made one form."""

import functools
from typing import Any, NamedTuple

from tans_core import config
from tans_core.cache import register_cache
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import Sharding, named_sharding, single_device_sharding
from tans_xla import backend
from tans_xla._jaxlib import Device
from tans_xla.layouts import Format, sharding_of_format
from tans_xla.memory import MemorySpace, sharding_in


class Target(NamedTuple):
    """A sharding, its devices in this process, and whether the choice is the user's."""

    sharding: Any
    devices: list[Device]
    committed: bool
    is_single: bool


type Destination = Any  # None, a device, a sharding, a memory, or a PartitionSpec under a mesh


def default_target() -> Target:
    """Return the target of values without a destination: the default device, not committed."""
    return _single_target(backend.default_device(), False)


def make_target(destination: Destination, name: str = "device_put") -> Target:
    """Return the target of a destination.

    Raises:
      TypeError: not a destination.
      ValueError: a spec without a mesh, or a sharding without devices.
    """
    if destination is None:
        return default_target()
    if isinstance(destination, Device):
        return _single_target(destination, True)
    if isinstance(destination, PartitionSpec):
        return sharding_target(named_sharding(context_mesh(destination, name), destination))
    if isinstance(destination, Sharding):
        return sharding_target(destination)
    if isinstance(destination, Format):
        return make_target(sharding_of_format(destination, name), name)
    raise ValueError(
        f"{name}: the destination {destination!r} is a {type(destination).__name__}, expected "
        "None, a device, a Sharding, a PartitionSpec under set_mesh, or a tree of these. "
        "A device is found with devices('cpu')[0]."
    )


def target_of(destination: Destination, value: Any, name: str = "device_put") -> Target | None:
    """Return the target of a destination for a value, whose devices a memory belongs to."""
    if isinstance(destination, MemorySpace):
        here = getattr(value, "_sharding", None)
        here = default_target().sharding if here is None else here
        return sharding_target(sharding_in(here, destination))
    return None if destination is None else make_target(destination, name)


def is_destination(x: Any) -> bool:
    """Whether `x` is one destination rather than a tree of them."""
    return x is None or isinstance(x, Device | Sharding | PartitionSpec | MemorySpace | Format)


# Keyed by device and sharding, so cleared when a backend is dropped.
@functools.lru_cache(maxsize=256)
def _single_target(device: Device, committed: bool) -> Target:
    if backend.is_lost(device):
        raise _lost(device)
    return Target(single_device_sharding(device), [device], committed, True)


@functools.lru_cache(maxsize=1024)
def sharding_target(sharding: Any) -> Target:
    """Return the target of a sharding; raises ValueError if it has no devices."""
    if getattr(getattr(sharding, "mesh", None), "_internal_device_list", 0) is None:
        raise ValueError(
            f"device_put: {sharding!r} has no devices, expected a sharding over a concrete Mesh. "
            "Make its mesh with make_mesh(sizes, names)."
        )
    devices = sharding._internal_device_list
    if backend.is_lost(devices[0]):
        raise _lost(sharding)
    here = list(devices.addressable_device_list)
    return Target(sharding, here, True, len(devices) == 1)


def _lost(destination: Any) -> RuntimeError:
    return RuntimeError(
        f"device_put: the destination {destination!r} belongs to a lost epoch: its devices were "
        "replaced by new ones; expected devices of this epoch. Ask devices() again, and make the "
        "mesh from them."
    )


register_cache(_single_target.cache_clear, holds_backend=True)
register_cache(sharding_target.cache_clear, holds_backend=True)


def context_mesh(spec: PartitionSpec, name: str) -> Mesh:
    """Return the mesh in context, which a spec is about; raises ValueError if there is none."""
    mesh = config.concrete_mesh.value
    if isinstance(mesh, Mesh) and not mesh.empty:
        return mesh
    raise ValueError(
        f"{name}: the PartitionSpec {spec!r} was given without a mesh in context, expected one. "
        "Call set_mesh(mesh) first, or pass NamedSharding(mesh, spec)."
    )
