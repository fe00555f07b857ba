"""The primitive of a mapped call."""

from typing import Final

from tans_core import Primitive

shard_map_p: Final = Primitive(
    "shard_map", family="tans_sharding.shard_mapping", multiple_results=True, call_like=True
)
"""Params: jaxpr, mesh, in_specs, out_specs, check_vma, newly_manual_axes.

The body, a program of one device's parts, has no constants: they are leading operands. `mesh` is
that outside of the body."""
