"""The check of a spec against a mesh, and its binding into the C++ `NamedSharding`."""

from typing import Any

from tans_core import coexistence, import_guard
from tans_core._jaxlib import NamedSharding
from tans_core.mesh import EMPTY_ABSTRACT_MESH, AbstractMesh, AxisType, Mesh
from tans_core.partition_spec import UNCONSTRAINED, AxisName, PartitionSpec, partition_axes


class DuplicateSpecError(Exception):
    """A spec uses one mesh axis for two dimensions."""


def check_pspec(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Raise if `spec` does not fit `mesh`; C++ calls this for each new `NamedSharding`.

    Raises:
      TypeError: `mesh` is not a mesh, or `spec` not a `PartitionSpec`.
      ValueError: an axis does not exist, or has the wrong type for its use.
      DuplicateSpecError: an axis shards two dimensions.
    """
    if spec.__class__ is not PartitionSpec or not isinstance(mesh, (Mesh, AbstractMesh)):
        raise _wrong_classes(mesh, spec)
    positions = mesh.axis_positions
    used: set[AxisName] = set()
    for partition in spec.partitions:
        if partition is None:
            continue
        if partition is UNCONSTRAINED:
            _check_unconstrained(mesh, spec)
        for axis in partition_axes(partition):
            if axis not in positions:
                raise _missing_axis(mesh, spec, axis)
            if axis in used:
                raise DuplicateSpecError(
                    f"NamedSharding: {spec!r} has duplicate entries for mesh axis {axis!r}; an "
                    "axis shards at most one dimension. Leave it out of the others."
                )
            used.add(axis)
    if spec.unreduced or spec.reduced:
        _check_state_axes(mesh, spec)


def _wrong_classes(mesh: Any, spec: Any) -> TypeError:
    if isinstance(mesh, (Mesh, AbstractMesh)):
        remedy = f"Write NamedSharding(mesh, P{spec!r})" if isinstance(spec, tuple) else "Write P()"
        return TypeError(
            f"NamedSharding: the spec {spec!r} is a {type(spec).__name__}, expected a "
            f"PartitionSpec. {remedy}."
        )
    return TypeError(
        f"NamedSharding: the mesh {mesh!r} is a {type(mesh).__name__}, expected a Mesh or an "
        "AbstractMesh. Make one with make_mesh(sizes, names)."
    )


def _missing_axis(mesh: Any, spec: PartitionSpec, axis: AxisName) -> ValueError:
    return ValueError(
        f"NamedSharding: given axis {axis!r} in {spec!r}, which is not found in mesh {mesh}. "
        f"Use one of the axes {mesh.axis_names!r}."
    )


def _check_unconstrained(mesh: Any, spec: PartitionSpec) -> None:
    if AxisType.Auto not in mesh.axis_types:
        raise ValueError(
            f"NamedSharding: {spec!r} holds P.UNCONSTRAINED, which needs an axis of type Auto, but "
            f"the mesh is {mesh}. Write None, or an axis name."
        )


def _check_state_axes(mesh: Any, spec: PartitionSpec) -> None:
    for name, axes in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        for axis in axes:
            if axis not in mesh.axis_positions:
                raise _missing_axis(mesh, spec, axis)
            if mesh.axis_type(axis) is AxisType.Auto:
                raise ValueError(
                    f"NamedSharding: {name} axis {axis!r} of {spec!r} has type "
                    f"{mesh.axis_type(axis)!r} in {mesh}; only Explicit axes can be {name}. "
                    "Make the mesh with AxisType.Explicit for this axis."
                )


# C++ looks the function up by name once, at the first sharding, and keeps it for the process.
# From here on jax would find our function, so its import is refused.
coexistence.check_alone()
import_guard.install_guard()
with coexistence.stub_modules({"jax._src.named_sharding": {"check_pspec": check_pspec}}):
    NamedSharding(EMPTY_ABSTRACT_MESH, PartitionSpec())
