"""Specs as params of operations: made into shardings, and given the entry of a mapped axis."""

from collections.abc import Sequence
from typing import Any

from tans_core import ShapedArray, typeof
from tans_core.config import abstract_mesh
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import DuplicateSpecError, NamedSharding, named_sharding

type Sharding = Any  # a PartitionSpec, a NamedSharding or None


def mesh_of(*avals: Any) -> Any:
    """Return the abstract mesh of the context, or of the first type that has one, or None."""
    mesh = abstract_mesh.value
    if mesh is not None:
        return mesh
    for aval in avals:
        sharding = getattr(aval, "_sharding", None)
        if sharding is not None:
            return sharding.mesh
    return None


def as_named(sharding: Any, x: Any, function: str) -> NamedSharding:
    """Return a spec or sharding as a `NamedSharding` over an abstract mesh, padded to the rank.

    Raises:
      TypeError: neither a spec nor a `NamedSharding`.
      ValueError: a spec without a mesh, or one that is longer than the rank.
    """
    aval: Any = x if isinstance(x, ShapedArray) else typeof(x)
    if isinstance(sharding, NamedSharding):
        mesh, spec = sharding.mesh.abstract_mesh, sharding.spec
    elif isinstance(sharding, PartitionSpec):
        mesh, spec = abstract_mesh.value, sharding
    else:
        raise TypeError(
            f"{function}: given {sharding!r} of type {type(sharding).__name__}, expected a "
            "PartitionSpec or a NamedSharding. Write P('x', None)."
        )
    if mesh is None:
        raise ValueError(
            f"{function}: given the PartitionSpec {spec!r} without a mesh in context, expected "
            "one. Call set_mesh(mesh) first, or pass NamedSharding(mesh, spec)."
        )
    if len(spec.partitions) > aval.ndim:
        raise ValueError(
            f"{function}: given the spec {spec!r} for a value of type {aval.str_short()}, expected "
            f"at most {aval.ndim} entries. Shorten it."
        )
    return named_sharding(mesh, spec.padded(aval.ndim))


def check_axes(sharding: NamedSharding, function: str) -> None:
    """Raise ValueError unless all axes that a sharding names are explicit."""
    spec, mesh = sharding.spec, sharding.mesh
    named = {a for p in spec.partitions for a in partition_axes(p)} | spec.unreduced | spec.reduced
    for axis in named:
        if mesh.axis_type(axis) is not AxisType.Explicit:
            raise ValueError(
                f"{function}: given {spec!r}, whose axis {axis!r} is Auto or Manual in {mesh}; "
                "expected Explicit axes. Use with_sharding_constraint for Auto axes."
            )


def insert_entry(sharding: Sharding, dim: int, entry: Any) -> Sharding:
    """Return a sharding param with an entry for a mapped dimension.

    Raises:
      DuplicateSpecError: the param names the mapped axis.
    """
    if sharding is None:
        return None
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    used = {a for p in spec.partitions for a in partition_axes(p)}
    if used.intersection(partition_axes(entry)):
        raise DuplicateSpecError(
            f"vmap: given {spec!r} inside a function mapped over {entry!r}; expected a spec "
            "without the mapped axis. Leave it out: it is added to the result."
        )
    partitions = list(spec.partitions) + [None] * (dim - len(spec.partitions))
    partitions.insert(dim, entry)
    new = spec.update(partitions=tuple(partitions))
    return named_sharding(sharding.mesh, new) if isinstance(sharding, NamedSharding) else new


def of_cotangent(aval: Any, *others: Any) -> NamedSharding | None:
    """Return the sharding param of an operation that computes a cotangent of type `aval`.

    Args:
      aval: the cotangent's type.
      others: types of the operands; without any sharding among all, there is nothing to ask for.
    """
    if all(getattr(a, "_sharding", None) is None for a in (aval, *others)):
        return None
    mesh = mesh_of(aval, *others)
    if mesh.manual_axes and not mesh.explicit_axes:
        return None  # states along manual axes are no part of a request
    if aval._sharding is not None:
        return aval.sharding
    return named_sharding(mesh, PartitionSpec(*(None,) * aval.ndim))


def before_transpose(sharding: Sharding, order: Sequence[int]) -> Sharding:
    """Return the sharding param of a value that becomes one with `sharding` when transposed.

    Args:
      sharding: that of the transposed value.
      order: the permutation; dimension ``i`` of the result is dimension ``order[i]`` before.
    """
    if sharding is None:
        return None
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    if len(spec.partitions) > len(order):
        return sharding  # too long: the operation says so
    partitions: list[Any] = [None] * len(order)
    for target, source in enumerate(order[: len(spec.partitions)]):
        partitions[source] = spec.partitions[target]
    new = spec.update(partitions=tuple(partitions))
    return named_sharding(sharding.mesh, new) if isinstance(sharding, NamedSharding) else new


def partitions_like(x: Any) -> NamedSharding | None:
    """Return the sharding param of a fresh array (a mask, an index) that lies like `x`, or None."""
    sharding = getattr(typeof(x), "_sharding", None)
    if sharding is None or all(p is None for p in sharding.spec.partitions):
        return None
    return named_sharding(sharding.mesh, PartitionSpec(*sharding.spec.partitions))
