"""Explicit mode: the sharding of an operation's results, from those of its operands.

A sharding is part of a type when some axis of its mesh is explicit and the value is sharded,
unreduced or reduced along one. A value that is replicated along all explicit axes has a type
without sharding, so programs that involve no mesh never come here.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_core import rules
from tans_core._jaxlib import NamedSharding
from tans_core.config import abstract_mesh
from tans_core.errors import ShardingTypeError
from tans_core.mesh import AbstractMesh
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.primitive import Primitive
from tans_core.sharding import named_sharding

_PARAMS: Final = ("sharding", "out_sharding", "dst_sharding")


class ShardingContext:
    """What a sharding rule may ask for.

    Attributes:
      primitive: the operation.
      mesh: the abstract mesh of its operands, or of the context.
      in_avals: types of the operands.
      out_avals: types of the results, whose shardings are still to be found.
    """

    __slots__ = ("in_avals", "mesh", "out_avals", "primitive")

    def __init__(
        self,
        primitive: Primitive,
        mesh: AbstractMesh,
        in_avals: tuple[Any, ...],
        out_avals: tuple[Any, ...],
    ) -> None:
        self.primitive = primitive
        self.mesh = mesh
        self.in_avals = in_avals
        self.out_avals = out_avals

    @property
    def out(self) -> Any:
        """The type of the first result."""
        return self.out_avals[0]

    def refuse(self, text: str, error: type[Exception] = ShardingTypeError) -> NoReturn:
        """Raise with the operation, its operands' types and `text` ("expected ... remedy")."""
        types = ", ".join(a.str_short() for a in self.in_avals)
        raise error(f"{self.primitive.name}: given operands of types {types}; {text}")


def spec_of(aval: Any) -> PartitionSpec:
    """Return the spec in a type, with one entry per dimension."""
    sharding = getattr(aval, "_sharding", None)
    ndim = getattr(aval, "ndim", 0)
    return PartitionSpec(*(None,) * ndim) if sharding is None else sharding.spec


def type_sharding(mesh: Any, spec: PartitionSpec | None, ndim: int) -> NamedSharding | None:
    """Return the sharding that stands in the type of a value with `ndim` dimensions.

    Entries of axes that are not explicit are left out; None stands for replicated.

    Raises:
      DuplicateSpecError: an axis shards two dimensions.
      ValueError: an axis does not exist, or the spec is longer than `ndim`.
    """
    if spec is None:
        return None
    if len(spec.partitions) > ndim:
        raise ValueError(
            f"given the spec {spec!r} for a value with {ndim} dimensions, expected at most {ndim} "
            "entries. Shorten the spec."
        )
    if not mesh.are_all_axes_explicit:
        explicit = frozenset(mesh.explicit_axes)
        spec = spec.update(
            partitions=tuple(
                tuple(a for a in partition_axes(p) if a in explicit) for p in spec.partitions
            )
        )
    if not (any(p is not None for p in spec.partitions) or spec.unreduced or spec.reduced):
        return None
    return named_sharding(mesh.abstract_mesh, spec.padded(ndim))


def with_manual_states(aval: Any, states: Any) -> Any:
    """Return a type with the states of a `ManualAxisType` along the context's manual axes."""
    mesh = abstract_mesh.value
    if mesh is None or not (states.unreduced or states.reduced):
        return aval.update(manual_axes=states.varying)
    spec = spec_of(aval)
    spec = spec.update(
        unreduced=spec.unreduced | states.unreduced,
        reduced=spec.reduced | states.reduced,
        unreduced_kind=spec.unreduced_kind or states.unreduced_kind,
    )
    sharding = type_sharding(mesh, spec, aval.ndim)
    return aval.update(manual_axes=states.varying, sharding=sharding)


def same_mesh(a: Any, b: Any) -> bool:
    """Whether two meshes have the same axes, whatever devices they are meant for."""
    return a is b or (a.shape_tuple == b.shape_tuple and a.axis_types == b.axis_types)


def mesh_for(primitive: Primitive, in_avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the abstract mesh of an operation, or None.

    Raises:
      ValueError: an operand's mesh is not that of the context or of another operand.
    """
    mesh = abstract_mesh.value
    for aval in in_avals:
        sharding = getattr(aval, "_sharding", None)
        if sharding is None:
            continue
        if mesh is None:
            mesh = sharding.mesh
        elif not same_mesh(mesh, sharding.mesh):
            raise ValueError(
                f"{primitive.name}: given an operand of type {aval.str_short()} on the mesh "
                f"{sharding.mesh}, but the context mesh or another operand has {mesh}; expected "
                "one mesh. Move the operand with device_put, or set the other mesh with set_mesh."
            )
    if mesh is None:
        for name in _PARAMS:
            if isinstance(params.get(name), NamedSharding):
                return params[name].mesh.abstract_mesh
    return mesh


def is_involved(in_avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an operand or a param of an operation carries a sharding."""
    return any(getattr(a, "_sharding", None) is not None for a in in_avals) or any(
        params.get(name) is not None for name in _PARAMS
    )


def apply_sharding(
    primitive: Primitive, in_avals: tuple[Any, ...], outs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the result types with their shardings.

    Raises:
      ShardingTypeError: the operands' shardings don't fit together, or there is no rule.
      ValueError: meshes differ, or a sharding in the params does not fit.
    """
    rule = rules.sharding.find(primitive)
    if rule is None and primitive.call_like:
        return outs  # the types of its bodies' results carry their shardings
    mesh = mesh_for(primitive, in_avals, params)
    if mesh is None:
        raise ValueError(
            f"{primitive.name}: given a PartitionSpec without a mesh, expected a mesh in context. "
            "Call set_mesh(mesh) first, or pass NamedSharding(mesh, spec)."
        )
    ctx = ShardingContext(primitive, mesh, in_avals, outs)
    if rule is None:
        ctx.refuse(
            f"expected a primitive with a sharding rule, but {primitive.name} has none. Add one "
            f"with tans_core.sharding.register, or call the function under auto_axes."
        )
    specs = rule(ctx, *in_avals, **params)
    specs = specs if primitive.multiple_results else (specs,)
    return tuple(_with_spec(ctx, a, s) for a, s in zip(outs, specs, strict=True))


def _with_spec(ctx: ShardingContext, aval: Any, spec: PartitionSpec | None) -> Any:
    if spec is None and getattr(aval, "_sharding", None) is None:
        return aval
    if spec is not None:
        used = [a for p in spec.partitions for a in partition_axes(p)]
        if len(set(used)) < len(used):
            ctx.refuse(
                f"the result would be illegally sharded as {_shown(aval, spec)}, with one mesh "
                "axis on two dimensions; expected each axis at most once. Reshard an operand, or "
                "give out_sharding."
            )
        _check_divisible(ctx, aval, spec)
    return aval.update(sharding=type_sharding(ctx.mesh, spec, aval.ndim))


def _check_divisible(ctx: ShardingContext, aval: Any, spec: PartitionSpec) -> None:
    sizes = ctx.mesh.shape
    for size, partition in zip(aval.shape, spec.partitions, strict=False):
        count = 1
        for axis in partition_axes(partition):
            count *= sizes.get(axis, 1)
        if size % count:
            ctx.refuse(
                f"a dimension of size {size} of the result would be sharded as {_shown(aval, spec)}"
                f", but is not divisible by {count}; expected sizes that the axes divide. Reshard "
                "the operand, or index with x.at[...].get(out_sharding=).",
            )


def _shown(aval: Any, spec: PartitionSpec) -> str:
    from_shape = aval.update(shape=()).str_short()[:-2]
    dims = [
        str(n) if not axes else f"{n}@{axes[0]}" if len(axes) == 1 else f"{n}@({','.join(axes)})"
        for n, axes in zip(aval.shape, map(partition_axes, spec.partitions), strict=False)
    ]
    return f"{from_shape}[{','.join(dims)}]"
