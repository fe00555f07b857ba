"""Batching: the mapped dimension keeps its mesh axes outside; inside, those that are Explicit."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData, BatchContext
from tans_core.mesh import AbstractMesh, AxisType
from tans_core.partition_spec import partition_axes
from tans_core.rules import ContextRule
from tans_lax.axis_types import axes_call_p, bind, mesh_context
from tans_lax.mesh.specs import insert_entry

type Value = Any


def _axis_inside(axis: AxisData, mesh: AbstractMesh) -> AxisData:
    entry = axis.explicit_mesh_axis
    if entry is None:
        return axis
    kept = [a for a in partition_axes(entry) if mesh.axis_type(a) is AxisType.Explicit]
    if not kept:
        return axis._replace(explicit_mesh_axis=None, explicit_mesh=None)
    inside = kept[0] if len(kept) == 1 else tuple(kept)
    return axis._replace(explicit_mesh_axis=inside, explicit_mesh=mesh)


def _batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[int | None],
    **params: Any,
) -> tuple[list[Value], Sequence[int | None]]:
    mesh, outer = params["mesh"], params["outer_mesh"]
    with mesh_context(mesh):
        body, dims_out = ctx.batch_jaxpr(params["jaxpr"], _axis_inside(axis, mesh), tuple(dims))
    outs = [
        s if s is None or d is None else insert_entry(s, d, axis.explicit_mesh_axis)
        for s, d in zip(params["out_shardings"], dims_out, strict=True)
    ]
    return bind(body, args, mesh, outer, outs), dims_out


BATCHING: Final = {axes_call_p: ContextRule(_batch)}
