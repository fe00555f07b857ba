"""Making meshes from the devices at hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core.mesh import AxisType, Mesh
from tans_core.sharding import SingleDeviceSharding, single_device_sharding
from tans_xla import devices as all_devices

type Device = Any


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Make a mesh over the first devices, in row-major order.

    Args:
      axis_sizes: number of devices along each axis.
      axis_names: one name per axis.
      axis_types: one type per axis; Explicit when left out.
      devices: the devices to use; all devices of the default backend when left out.

    Raises:
      ValueError: too few devices, or names and sizes differ in number.
      TypeError: an axis type is not an `AxisType`.

    Example:
      >>> make_mesh((1,), ("x",)).axis_types
      (Explicit,)
    """
    sizes, names = tuple(axis_sizes), axis_names
    if not isinstance(names, str) and len(sizes) != len(tuple(names)):
        raise ValueError(
            f"make_mesh: given axis_sizes={sizes} and axis_names={tuple(names)!r}, expected one "
            "name per size. Name each axis."
        )
    pool = list(all_devices() if devices is None else devices)
    count = math.prod(sizes)
    if count > len(pool):
        raise ValueError(
            f"make_mesh: given axis_sizes={sizes} with {count} devices, but there are {len(pool)}; "
            "expected a product of sizes of at most that. On CPU, set the flag num_cpu_devices "
            "before the first computation."
        )
    grid = np.empty(count, object)
    grid[:] = pool[:count]
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(sizes)
    return Mesh(grid.reshape(sizes), names, axis_types)


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return the sharding of arrays on one device.

    Args:
      device: the device.
      memory_kind: one of its memories, such as ``"pinned_host"``; its default when left out.

    Example:
      >>> import tans
      >>> make_single_device_sharding(tans.devices()[0]).num_devices
      1
    """
    return single_device_sharding(device, memory_kind)
