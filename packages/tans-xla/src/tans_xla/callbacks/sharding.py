"""Sharding rule of callbacks: operands are gathered for the call, results are replicated."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.config import abstract_mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_core.sharding import named_sharding
from tans_core.types import ShapedArray
from tans_xla.callbacks import debug_callback_p, io_callback_p, pure_callback_p


def _replicated(
    *avals: ShapedArray, result_avals: tuple[ShapedArray, ...] = (), **_: Any
) -> list[Any]:
    meshes = [aval.sharding.mesh for aval in avals if aval.is_sharded]
    mesh = meshes[0] if meshes else abstract_mesh.value
    return [named_sharding(mesh, PartitionSpec().padded(aval.ndim)) for aval in result_avals]


SHARDING: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _replicated,
    io_callback_p: _replicated,
    debug_callback_p: _replicated,
}
