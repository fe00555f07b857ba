"""Lowering: the type tells the sharding, or a custom call with which the partitioner reports it."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.config import concrete_mesh
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import named_sharding, single_device_sharding
from tans_xla import backend, hlo
from tans_xla._jaxlib import encode_inspect_sharding_callback, ir
from tans_xla.explicit_shardings import concrete_sharding
from tans_xla.hlo_shardings import find_spec
from tans_xla.inspection import inspect_sharding_p
from tans_xla.lowering import LoweringContext

type Value = Any  # ir.Value


def _lower(ctx: LoweringContext, x: Value, *, callback: Callable[[Any], None]) -> list[Value]:
    builder = ctx.builder
    aval: Any = ctx.avals_in[0]
    mesh = builder.mesh if isinstance(builder.mesh, Mesh) else concrete_mesh.value
    if "mhlo.num_partitions" not in builder.module.operation.attributes:
        callback(single_device_sharding(backend.default_device()))
        return []
    if builder.mesh is not None and mesh is not None and builder.mesh.are_all_axes_explicit:
        callback(concrete_sharding(mesh, aval))
        return []
    ndim = aval.ndim

    def report(found: Any) -> None:
        callback(_as_sharding(found, mesh, ndim))

    builder.keep_alive.append(report)
    builder.observed = True
    attributes = {
        "call_target_name": hlo.string("InspectSharding"),
        "has_side_effect": hlo.boolean(True),
        "backend_config": ir.StringAttr.get(encode_inspect_sharding_callback(report)),
    }
    hlo.op("stablehlo.custom_call", [x.type], [x], attributes)
    return []


def _as_sharding(found: Any, mesh: Any, ndim: int) -> Any:
    if mesh is None:
        return found
    if found.is_replicated():
        return named_sharding(mesh, PartitionSpec())
    spec = find_spec(found, mesh, ndim)
    return found if spec is None else named_sharding(mesh, spec)


LOWERING: Final = {inspect_sharding_p: _lower}
