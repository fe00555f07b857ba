"""Which part of an array each device of a mesh holds."""

from typing import Any, NamedTuple

import numpy as np

from tans_core import typeof
from tans_core.partition_spec import UNCONSTRAINED, PartitionSpec, partition_axes
from tans_core.sharding import NamedSharding, Sharding

type Range = tuple[int, int]


class Part(NamedTuple):
    """What one device holds.

    Attributes:
      device: its id, or its position when the mesh has no devices.
      coordinates: its position along each mesh axis.
      ranges: for each dimension of the array, first index and one past the last.
    """

    device: int
    coordinates: tuple[int, ...]
    ranges: tuple[Range, ...]

    @property
    def slices(self) -> str:
        """The part in the notation of indexing."""
        return "[" + ", ".join(f"{a}:{b}" for a, b in self.ranges) + "]"


class Lay(NamedTuple):
    """How an array lies on devices.

    Attributes:
      shape: of the array.
      axes: pairs of mesh axis and size; one nameless axis without a mesh.
      spec: the partition spec; None without a mesh.
      parts: one per device, in the mesh's row-major order.
    """

    shape: tuple[int, ...]
    axes: tuple[tuple[Any, int], ...]
    spec: PartitionSpec | None
    parts: tuple[Part, ...]

    @property
    def states(self) -> str:
        """What the unreduced and reduced axes mean, in words; empty without any."""
        if self.spec is None:
            return ""
        words = []
        unreduced, reduced = (
            ", ".join(str(a) for a, _ in self.axes if a in names)
            for names in (self.spec.unreduced, self.spec.reduced)
        )
        if unreduced:
            kind = self.spec.unreduced_kind.name if self.spec.unreduced_kind else "sum"
            words.append(
                f"unreduced over {unreduced}: the value is the {kind} of what devices hold"
            )
        if reduced:
            words.append(f"reduced over {reduced}: equal copies, with an unreduced cotangent")
        return "; ".join(words)


def lay_of(x: Any) -> Lay:
    """Return how an array, a traced value or a pair of shape and sharding lies on devices.

    Args:
      x: array, `ShapeDtypeStruct`, traced value, or ``(shape, sharding)``.

    Raises:
      ValueError: the sharding of a traced value is not known, or the spec does not fit.
    """
    if isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], Sharding):
        shape, sharding = tuple(x[0]), x[1]
    else:
        aval: Any = typeof(x)
        shape = tuple(aval.shape)
        sharding = getattr(x, "sharding", None) or aval.sharding
    if isinstance(sharding, NamedSharding):
        if sharding.mesh.empty:
            raise ValueError(
                f"sharding pictures: given {x!r} without a mesh in its type, expected an array, or "
                "a type with a sharding. Inside of jit use inspect_array_sharding."
            )
        return _on_mesh(shape, sharding)
    indices = sharding.devices_indices_map(shape)
    parts = [
        Part(d.id, (i,), tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True)))
        for i, (d, index) in enumerate(indices.items())
    ]
    return Lay(shape, (("devices", len(parts)),), None, tuple(parts))


def _on_mesh(shape: tuple[int, ...], sharding: NamedSharding) -> Lay:
    mesh, spec = sharding.mesh, sharding.spec.padded(len(shape))
    sharding.shard_shape(shape)
    sizes = mesh.axis_sizes
    devices = getattr(mesh, "_internal_device_list", None)
    ids = range(mesh.size) if devices is None else [d.id for d in devices]
    parts = []
    for position, device in enumerate(ids):
        at = tuple(map(int, np.unravel_index(position, sizes)))
        ranges = [
            _range(n, partition, mesh, at)
            for n, partition in zip(shape, spec.partitions, strict=True)
        ]
        parts.append(Part(device, at, tuple(ranges)))
    return Lay(shape, mesh.shape_tuple, spec, tuple(parts))


def _range(size: int, partition: Any, mesh: Any, at: tuple[int, ...]) -> Range:
    index, count = 0, 1
    for axis in () if partition is UNCONSTRAINED else partition_axes(partition):
        position = mesh.axis_positions[axis]
        index = index * mesh.axis_sizes[position] + at[position]
        count *= mesh.axis_sizes[position]
    return index * size // count, (index + 1) * size // count
