"""Meshes, partition specs and shardings."""

from typing import Any

from tans.removed import absent
from tans_sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    ManualAxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    UnreducedKind,
    auto_axes,
    communication,
    expect_communication,
    explicit_axes,
    get_abstract_mesh,
    get_mesh,
    make_single_device_sharding,
    no_collectives,
    reshard,
    set_mesh,
    use_abstract_mesh,
)

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
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
    "make_single_device_sharding",
    "no_collectives",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent(__name__, name))
