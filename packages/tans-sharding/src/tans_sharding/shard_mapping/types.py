"""Type rule of shard_map: the body's results, put together."""

from typing import Any, Final

from tans_core.rules import Typed
from tans_sharding.shard_mapping.boundary import whole_type
from tans_sharding.shard_mapping.primitive import shard_map_p


def shard_map_types(
    *in_avals: Any, jaxpr: Any, mesh: Any, out_specs: Any, newly_manual_axes: Any, **_: Any
) -> Typed:
    """Return the types of the results of a mapped function."""
    del in_avals
    outs = [
        whole_type(mesh.abstract_mesh, newly_manual_axes, spec, aval)
        for spec, aval in zip(out_specs, jaxpr.out_avals, strict=True)
    ]
    return Typed(tuple(outs), jaxpr.effects)


TYPES: Final = {
    shard_map_p: shard_map_types,
}
