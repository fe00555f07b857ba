"""Batching of changes of sharding: the mapped dimension keeps its mesh axes."""

from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.mesh import reshard_p, sharding_constraint_p
from tans_lax.mesh.specs import insert_entry

type Value = Any


def _batching(primitive: Primitive, name: str) -> Any:
    def rule(
        axis: AxisData, args: tuple[Value], dims: tuple[int], **params: Any
    ) -> tuple[Value, int]:
        (dim,) = dims
        entry = axis.explicit_mesh_axis
        if primitive is sharding_constraint_p:
            entry = axis.spmd_name
        sharding = insert_entry(params[name], dim, entry)
        return primitive.bind(args[0], **{name: sharding}), dim

    return rule


BATCHING: Final[dict[Primitive, Any]] = {
    reshard_p: _batching(reshard_p, "dst_sharding"),
    sharding_constraint_p: _batching(sharding_constraint_p, "sharding"),
}
