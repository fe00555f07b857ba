"""Devices, meshes and sharded arrays in pickles: found again among the devices of the reader.

A device is written as platform and number. Where a number does not exist, the first devices stand
in for those that were written.
"""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core import ArrayImpl
from tans_core.errors import message
from tans_core.mesh import Mesh
from tans_core.sharding import named_sharding
from tans_xla import device_put
from tans_xla import devices as devices_of


def reduce_mesh(mesh: Mesh) -> Any:
    """Return how `pickle` makes a mesh again."""
    found = list(mesh.devices.flat)
    ids = tuple(d.id for d in found)
    platform = found[0].platform if found else None
    return load_mesh, (platform, ids, mesh.devices.shape, mesh.axis_names, mesh.axis_types)


def reduce_device(device: Any) -> Any:
    """Return how `pickle` finds a device again."""
    return load_device, (device.platform, device.id)


def reduce_array(array: ArrayImpl) -> Any:
    """Return how `pickle` makes an array again; one whose type has a sharding keeps it."""
    if not array.aval.is_sharded:
        return array.__reduce__()
    sharding: Any = array.sharding
    return load_sharded, (np.asarray(array), sharding.mesh, sharding.spec)


def load_mesh(
    platform: str | None, ids: Sequence[int], shape: Sequence[int], names: Any, types: Any
) -> Mesh:
    """Return a mesh over devices of this process.

    Raises:
      UnpicklingError: there are not as many.
    """
    array = np.empty(tuple(shape), object)
    array.flat = _devices(platform, ids)
    return Mesh(array, names, axis_types=types)


def load_device(platform: str, number: int) -> Any:
    """Return a device of this process."""
    return _devices(platform, (number,))[0]


def load_sharded(value: np.ndarray, mesh: Mesh, spec: Any) -> Any:
    """Return an array on the devices of a mesh."""
    return device_put(value, named_sharding(mesh, spec))


def _devices(platform: str | None, ids: Sequence[int]) -> list[Any]:
    if platform is None:
        return []
    here = {d.id: d for d in devices_of(platform)}
    if set(ids) <= set(here):
        return [here[i] for i in ids]
    if len(ids) > len(here):
        raise pickle.UnpicklingError(
            message(
                "VJP object",
                f"a program over {len(ids)} {platform} devices",
                f"at most {len(here)}, which are here",
                "Load it where there are as many devices.",
            )
        )
    return list(here.values())[: len(ids)]
