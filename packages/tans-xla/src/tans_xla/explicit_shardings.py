"""Explicit mode in lowered programs: from the shardings in types to those of values and results."""

from collections.abc import Sequence
from typing import Any

from tans_core import config_module as config
from tans_core.explicit_mode import type_sharding
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, named_sharding
from tans_core.types import ShapedArray

type Value = Any  # ir.Value


def explicit_mesh(shardings: Sequence[Any], num_devices: int) -> Any:
    """Return the concrete mesh with explicit axes that a program runs on, or None.

    Args:
      shardings: those of the arguments and of the results that are asked for.
      num_devices: how many devices the program runs on.
    """
    if num_devices < 2:
        return None
    for sharding in shardings:
        if isinstance(sharding, NamedSharding) and AxisType.Explicit in sharding.mesh.axis_types:
            return sharding.mesh
    mesh = config.concrete_mesh.value
    if mesh is None or mesh.size != num_devices or AxisType.Explicit not in mesh.axis_types:
        return None
    return mesh


def result_shardings(
    in_shardings: Sequence[Any], avals: Sequence[Any], requested: Sequence[Any], num_devices: int
) -> tuple[Any, ...]:
    """Return the shardings of a program's results; in explicit mode their types say them.

    On a mesh with Auto axes the compiler completes the sharding, so nothing is asked for.
    """
    mesh = explicit_mesh((*in_shardings, *requested), num_devices)
    if mesh is None or not mesh.are_all_axes_explicit:
        return tuple(requested)
    return tuple(
        concrete_sharding(mesh, aval) if sharding is None else sharding
        for aval, sharding in zip(avals, requested, strict=True)
    )


def result_types(avals: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Return the types of results; a sharding that was asked for changes the type."""
    return [
        aval.update(sharding=type_sharding(s.mesh, s.spec, aval.ndim))
        if isinstance(s, NamedSharding) and isinstance(aval, ShapedArray)
        else aval
        for aval, s in zip(avals, shardings, strict=True)
    ]


def concrete_sharding(mesh: Any, aval: ShapedArray) -> NamedSharding:
    """Return the sharding over `mesh` of a value of type `aval`; manual axes are no part of it."""
    if aval.is_sharded:
        return named_sharding(mesh, aval.sharding.spec)
    return named_sharding(mesh, PartitionSpec(*(None,) * aval.ndim))


def constrained(
    values: Sequence[Value], avals: Sequence[Any], mesh: Any, operands: Sequence[Any] = ()
) -> list[Value]:
    """Constrain MLIR values to the shardings in their types.

    A scalar computed from `operands` (types) without sharding has only one, so needs no constraint.
    """
    if mesh.manual_axes and AxisType.Explicit not in mesh.axis_types:
        return list(values)
    from tans_xla import sdy_attributes

    involved = any(getattr(a, "is_sharded", False) for a in operands)
    is_open = AxisType.Auto in mesh.axis_types
    out = []
    for x, aval in zip(values, avals, strict=True):
        if isinstance(aval, ShapedArray) and (aval.ndim or aval.is_sharded or involved):
            out.append(sdy_attributes.constrain(x, concrete_sharding(mesh, aval), is_open))
        else:
            out.append(x)
    return out
