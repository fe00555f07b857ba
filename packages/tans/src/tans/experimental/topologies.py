"""Devices that are not here, to compile for."""

from tans_compiler.topologies import (
    TopologyDescription,
    get_attached_topology,
    get_topology_desc,
    make_mesh,
)

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]
