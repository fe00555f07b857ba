"""Shardy attributes of shardings."""

from typing import Any, Final

from tans_core.partition_spec import UNCONSTRAINED, UnreducedKind, partition_axes
from tans_xla._jaxlib import ir, sdy

_REDUCTIONS: Final = {
    UnreducedKind.sum: sdy.ReductionOp.SUM,
    UnreducedKind.max: sdy.ReductionOp.MAX,
    UnreducedKind.min: sdy.ReductionOp.MIN,
}


def mesh_attribute(mesh: Any) -> Any:
    """Return the mesh as an inline attribute."""
    axes = [
        sdy.MeshAxisAttr.get(str(name), size)
        for name, size in zip(mesh.axis_names, mesh.axis_sizes, strict=True)
    ]
    return sdy.MeshAttr.get(axes)


def tensor_sharding(sharding: Any, ndim: int) -> Any:
    """Return the attribute for a `NamedSharding` of a value with `ndim` dimensions."""
    spec = sharding.spec
    dims = [_dimension(partition) for partition in spec.padded(ndim).partitions]
    return sdy.TensorShardingAttr.get(
        mesh_attribute(sharding.mesh),
        dims,
        replicated_axes=[],
        unreduced_axes=_axes(sharding.mesh, spec.unreduced),
        reduction_op=_REDUCTIONS.get(spec.unreduced_kind),
    )


def _axes(mesh: Any, names: Any) -> list[Any]:
    return [sdy.AxisRefAttr.get(str(a)) for a in mesh.axis_names if a in names]


def _dimension(partition: Any) -> Any:
    if partition is UNCONSTRAINED:
        return sdy.DimensionShardingAttr.get([], False)
    axes = [] if partition is None else partition_axes(partition)
    return sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(str(a)) for a in axes], True)


def constrain(x: Any, sharding: Any) -> Any:
    """Emit a constraint of an MLIR value to a `NamedSharding`; return the constrained value."""
    ndim = len(ir.RankedTensorType(x.type).shape)
    return sdy.sharding_constraint(x, tensor_sharding(sharding, ndim))
