"""Meshes, partition specs and shardings."""

from tans_core.mesh import AbstractDevice, AbstractMesh, AxisType, Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, Sharding, SingleDeviceSharding

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
]
