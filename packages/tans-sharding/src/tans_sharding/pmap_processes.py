"""pmap in a job of several processes: each gives and gets the elements of its own devices.

The program runs over the devices of all. An argument is made of what each process gave, without
sending anything; of a result, each process gets an array over its own devices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core import Tracer, tree, typeof
from tans_core.dtypes import is_extended
from tans_core.errors import message
from tans_core.mesh import AxisType, Mesh
from tans_core.sharding import IndivisibleError, named_sharding
from tans_sharding.pmap_axes import spec_of_dim
from tans_xla import ShapeDtypeStruct, device_put
from tans_xla.make_array import make_array_from_single_device_arrays

type Value = Any


def line_of(devices: Sequence[Any], name: Any) -> Mesh:
    """Return the mesh of one axis over devices."""
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid, (name,), (AxisType.Auto,))


def check_own_elements(
    mesh: Mesh, leaves: Sequence[Value], size: int, axis_size: int | None
) -> None:
    """Raise if what this process gives does not fit its devices in a mesh of several processes.

    Raises:
      ValueError: no device is this process's, sizes differ, or an argument is traced or spread
        over several processes.
    """
    own = len(mesh.local_devices)
    where = f"{mesh.size} devices of several processes, {own} of them of this one"
    if not own:
        raise ValueError(
            message(
                "pmap", where, "some of this process", "Call it only in processes that own some."
            )
        )
    for x in leaves:
        traced = isinstance(x, Tracer)
        if traced or not getattr(x, "is_fully_addressable", True):
            what = "traced" if traced else "spread"
            raise ValueError(
                message(
                    "pmap",
                    f"the {what} argument {typeof(x).str_short()} and {where}",
                    "arrays of this process",
                    "Use shard_map, or devices=local_devices() for a map in each process.",
                )
            )
    if size != own:
        raise IndivisibleError(
            message(
                "pmap",
                f"mapped axes of size {size} and {where}",
                f"size {own}: one element for each device of this process",
                "Pass this process's part only, or devices=local_devices() for a map in each "
                "process.",
            )
        )
    if axis_size is not None and axis_size != mesh.size:
        raise ValueError(
            message(
                "pmap",
                f"axis_size={axis_size} and {where}",
                f"axis_size={mesh.size}, the elements of all processes",
                "Leave axis_size out.",
            )
        )


class SharedProgram:
    """A program over a mesh of several processes, called with this process's arrays.

    Args:
      compiled: the jitted function of arrays over the whole mesh.
      mesh: the mesh.
      dims: the mapped dimension of each argument.
    """

    def __init__(self, compiled: Any, mesh: Mesh, dims: Sequence[int | None]) -> None:
        self._compiled = compiled
        self._mesh = mesh
        self._dims = dims
        (self._name,) = mesh.axis_names
        self._own = line_of(mesh.local_devices, self._name)

    def __call__(self, *leaves: Value) -> Any:
        """Run it; all processes do."""
        whole = [self._join(x, d) for x, d in zip(leaves, self._dims, strict=True)]
        return tree.map(self._part, self._compiled(*whole))

    def lower(self, *leaves: Value) -> Any:
        """Lower it for the types of the whole arguments."""
        return self._compiled.lower(*map(self._type, leaves, self._dims))

    def _join(self, x: Value, dim: int | None) -> Any:
        part = device_put(x, named_sharding(self._own, spec_of_dim(dim, self._name)))
        kind = self._type(x, dim)
        return _remade(part, kind.shape, kind.sharding)

    def _type(self, x: Value, dim: int | None) -> Any:
        aval: Any = typeof(x)
        sharding = named_sharding(self._mesh, spec_of_dim(dim, self._name))
        shape = _resized(aval.shape, dim, self._mesh.size)
        return ShapeDtypeStruct(shape, aval.dtype, sharding=sharding)

    def _part(self, whole: Any) -> Any:
        piece = whole.addressable_shards[0].data.shape
        dim = next((i for i, n in enumerate(piece) if n != whole.shape[i]), None)
        shape = _resized(whole.shape, dim, self._own.size)
        return _remade(whole, shape, named_sharding(self._own, spec_of_dim(dim, self._name)))


def _resized(shape: tuple[int, ...], dim: int | None, size: int) -> tuple[int, ...]:
    return tuple(size if i == dim else n for i, n in enumerate(shape))


def _remade(array: Any, shape: tuple[int, ...], sharding: Any) -> Any:
    dtype = array.dtype
    if is_extended(dtype):
        return dtype.wrap(_remade(dtype.unwrap(array), (*shape, *dtype.element_shape), sharding))
    pieces = [shard.data for shard in array.addressable_shards]
    return make_array_from_single_device_arrays(shape, sharding, pieces, dtype=dtype)
