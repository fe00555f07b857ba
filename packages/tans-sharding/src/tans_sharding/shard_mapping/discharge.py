"""shard_map over refs: each device's part of the new value comes out as its part went in."""

from typing import Any, Final

from tans_sharding.shard_mapping.boundary import inner_mesh, manual_context
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_xla.discharge import DischargeContext, Updates

type Value = Any


def _shard_map_discharge(
    ctx: DischargeContext, *operands: Value, **params: Any
) -> tuple[list[Value], Updates]:
    mesh, axes = params["mesh"], params["newly_manual_axes"]
    with manual_context(inner_mesh(mesh.abstract_mesh, axes), axes, params["check_vma"]):
        pure, written = ctx.discharge(params["jaxpr"])
    specs = [params["in_specs"][i] for i in written]
    params |= {"jaxpr": pure, "out_specs": (*params["out_specs"], *specs)}
    outs = shard_map_p.bind(*operands, **params)
    count = len(outs) - len(written)
    return outs[:count], dict(zip(written, outs[count:], strict=True))


DISCHARGE: Final = {shard_map_p: _shard_map_discharge}
