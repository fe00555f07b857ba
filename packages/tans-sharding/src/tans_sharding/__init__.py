"""Meshes and sharding: the context mesh, explicit sharding types, `reshard`."""

from typing import Any, Final

from tans_core import require_interface
from tans_core.manual_axis_type import ManualAxisType
from tans_core.mesh import AbstractDevice, AbstractMesh, AxisType, Mesh
from tans_core.partition_spec import P, PartitionSpec, UnreducedKind
from tans_core.sharding import NamedSharding, Sharding, SingleDeviceSharding
from tans_lax.mesh import with_sharding_constraint
from tans_sharding.axis_types import auto_axes, explicit_axes
from tans_sharding.context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from tans_sharding.expectations import communication, expect_communication
from tans_sharding.meshes import make_mesh, make_single_device_sharding
from tans_sharding.no_collectives import no_collectives
from tans_sharding.pmap import pmap
from tans_sharding.resharding import reshard
from tans_sharding.shard_mapping import shard_map
from tans_sharding.shard_mapping.single import smap

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-sharding", built_for=_INTERFACE_BUILT_FOR)

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnreducedKind",
    "auto_axes",
    "communication",
    "expect_communication",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "make_single_device_sharding",
    "no_collectives",
    "pmap",
    "reshard",
    "set_mesh",
    "shard_map",
    "smap",
    "use_abstract_mesh",
    "with_sharding_constraint",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tans-sharding")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
