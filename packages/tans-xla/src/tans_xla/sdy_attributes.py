"""Shardy attributes of shardings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tans_core.mesh import AxisType
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


def tensor_sharding(sharding: Any, ndim: int, is_open: bool = False) -> Any:
    """Return the attribute for a `NamedSharding` of a value with `ndim` dimensions.

    Args:
      sharding: the sharding.
      ndim: number of dimensions of the value.
      is_open: whether the compiler may shard the dimensions further, over Auto axes: Explicit ones
        that the spec leaves out are kept out.
    """
    spec, mesh = sharding.spec, sharding.mesh
    partitions = spec.padded(ndim).partitions
    dims = [_dimension(partition, is_open) for partition in partitions]
    replicated = set(mesh.explicit_axes if is_open else ()) - spec.unreduced
    replicated -= {a for p in partitions if p is not UNCONSTRAINED for a in partition_axes(p)}
    return sdy.TensorShardingAttr.get(
        mesh_attribute(mesh),
        dims,
        replicated_axes=_axes(mesh, replicated),
        unreduced_axes=_axes(mesh, spec.unreduced),
        reduction_op=_REDUCTIONS.get(spec.unreduced_kind),
    )


class ManualRegion:
    """The body of a manual computation, to be filled.

    Args:
      operation: the operation, without a block.
    """

    __slots__ = ("_operation",)

    def __init__(self, operation: Any) -> None:
        self._operation = operation

    @contextmanager
    def block(self, arg_types: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Build inside the body; yields its arguments, which have the local shapes."""
        new = self._operation.regions[0].blocks.append(*arg_types)
        with ir.InsertionPoint(new):
            yield tuple(new.arguments)

    @staticmethod
    def ret(values: Sequence[Any]) -> None:
        """End the body with the local results."""
        ir.Operation.create("sdy.return", (), list(values))

    @property
    def results(self) -> list[Any]:
        """The results, of the global shapes."""
        return list(self._operation.results)


def manual_computation(
    result_types: Sequence[Any],
    operands: Sequence[Any],
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    axes: Sequence[Any],
    mesh: Any,
) -> ManualRegion:
    """Emit a computation that each device runs on its own parts.

    Args:
      result_types: global types of the results.
      operands: global values.
      in_shardings: a `NamedSharding` per operand.
      out_shardings: a `NamedSharding` per result.
      axes: the mesh axes that become manual.
      mesh: the mesh, for the order of axes.
    """
    per_value = sdy.TensorShardingPerValueAttr.get
    free = [a for a in mesh.axis_names if a not in axes and a not in mesh.manual_axes]
    is_open = any(mesh.axis_type(a) is AxisType.Auto for a in free)

    def shardings(given: Sequence[Any], types: Sequence[Any]) -> Any:
        ranks = [len(ir.RankedTensorType(t).shape) for t in types]
        pairs = zip(given, ranks, strict=True)
        return per_value([tensor_sharding(s, rank, is_open) for s, rank in pairs])

    names = [ir.StringAttr.get(str(a)) for a in mesh.axis_names if a in axes]
    attributes = {
        "in_shardings": shardings(in_shardings, [x.type for x in operands]),
        "out_shardings": shardings(out_shardings, result_types),
        "manual_axes": sdy.ManualAxesAttr.get(names),
    }
    make = ir.Operation.create
    return ManualRegion(
        make("sdy.manual_computation", result_types, list(operands), attributes, None, 1)
    )


def _axes(mesh: Any, names: Any) -> list[Any]:
    return [sdy.AxisRefAttr.get(str(a)) for a in mesh.axis_names if a in names]


def _dimension(partition: Any, is_open: bool = False) -> Any:
    if partition is UNCONSTRAINED:
        return sdy.DimensionShardingAttr.get([], False)
    axes = [] if partition is None else partition_axes(partition)
    return sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(str(a)) for a in axes], not is_open)


def constrain(x: Any, sharding: Any, is_open: bool = False) -> Any:
    """Emit a constraint of an MLIR value to a `NamedSharding`; return the constrained value.

    Args:
      x: the value.
      sharding: the sharding.
      is_open: whether the compiler may shard it over Auto axes besides.
    """
    ndim = len(ir.RankedTensorType(x.type).shape)
    return sdy.sharding_constraint(x, tensor_sharding(sharding, ndim, is_open))
