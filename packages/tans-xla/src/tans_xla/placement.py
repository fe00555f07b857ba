"""Where a program runs: one device or a mesh, decided by its arguments and requested shardings."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tans_core import ArrayImpl
from tans_core.config import concrete_mesh
from tans_core.mesh import concrete_meshes
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, named_sharding, single_device_sharding
from tans_xla import backend


class Placement(NamedTuple):
    """Where a program runs.

    Attributes:
      devices: its devices in order.
      in_shardings: one per argument.
      committed: whether results stay on these devices when they meet others.
    """

    devices: tuple[Any, ...]
    in_shardings: tuple[Any, ...]
    committed: bool

    @property
    def mesh(self) -> Any:
        """The concrete mesh that the shardings refer to, or None."""
        for sharding in self.in_shardings:
            if isinstance(sharding, NamedSharding) and len(self.devices) > 1:
                return sharding.mesh
        return None


def devices_of(sharding: Any) -> tuple[Any, ...]:
    """Return the devices of a sharding in order."""
    return tuple(sharding._internal_device_list)


def resolve(
    args: Sequence[Any],
    requested: Sequence[Any],
    others: Sequence[tuple[str, Any]],
    arg_name: Callable[[int], str],
    function: str,
    out_avals: Sequence[Any] = (),
) -> Placement:
    """Decide where a program runs.

    Args:
      args: concrete arguments.
      requested: sharding asked for per argument, or None.
      others: further shardings that were asked for, each with the name of what asks.
      arg_name: gives the printed name of an argument.
      function: the function's name, for messages.
      out_avals: types of the results, whose mesh is taken when nothing else says where.

    Raises:
      ValueError: committed arguments or requested shardings are on different devices, or a
        committed argument has another sharding than the one asked for.
    """
    found: list[tuple[str, Any]] = []
    for i, (x, sharding) in enumerate(zip(args, requested, strict=True)):
        committed = x._sharding if isinstance(x, ArrayImpl) and x._committed else None
        if sharding is not None:
            if committed is not None and not committed.is_equivalent_to(sharding, x.ndim):
                raise ValueError(_mismatch(function, arg_name(i), committed, sharding))
            found.append((arg_name(i), sharding))
        elif committed is not None:
            found.append((arg_name(i), committed))
    found += others
    mesh = concrete_mesh.value
    if mesh is None and not found:
        mesh = mesh_of_types(out_avals, function)
    if not found:
        devices: tuple[Any, ...] = _default_devices(mesh)
    else:
        devices = devices_of(found[0][1])
        if any(devices_of(s) != devices for _, s in found[1:]):
            raise ValueError(_conflict(function, found))
    default = _default_sharding(devices, [s for _, s in found], mesh)
    chosen = tuple(
        s if s is not None else _own(x, devices) or default
        for x, s in zip(args, requested, strict=True)
    )
    return Placement(devices, chosen, bool(found))


def mesh_of_types(avals: Sequence[Any], function: str) -> Any:
    """Return the mesh over devices of types with a sharding; None when no type has one.

    Raises:
      ValueError: there is none, or more than one.
    """
    for aval in avals:
        if not getattr(aval, "is_sharded", False) or aval.sharding.mesh.size < 2:
            continue
        abstract = aval.sharding.mesh
        meshes = [m for m in concrete_meshes(abstract) if not backend.is_lost(m.devices.flat[0])]
        if len(meshes) == 1:
            return meshes[0]
        raise ValueError(
            f"{function}: given a result of type {aval.str_short()} whose mesh {abstract} stands "
            f"for {len(meshes)} meshes over devices, expected one. Write set_mesh(mesh) around it."
        )
    return None


def check_shapes(
    shardings: Sequence[Any], avals: Sequence[Any], name: Callable[[int], str], function: str
) -> None:
    """Check that each sharding can split the shape it was given for.

    Raises:
      ValueError: a spec is longer than the rank (IndivisibleError: a size is not divisible).
    """
    for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
        if isinstance(sharding, NamedSharding):
            try:
                sharding.shard_shape(aval.shape)
            except ValueError as error:
                where = f"{function}: {name(i)} of type {aval.str_short()}"
                raise type(error)(f"{where}: {error}") from None


def _mismatch(function: str, name: str, given: Any, expected: Any) -> str:
    return (
        f"{function}: {name} is committed to {given}, which does not match the sharding that was "
        f"asked for; expected {expected}. Move it with device_put(x, sharding), or leave the entry "
        "of in_shardings None."
    )


def _own(x: Any, devices: tuple[Any, ...]) -> Any:
    if isinstance(x, ArrayImpl) and x._committed and devices_of(x._sharding) == devices:
        return x._sharding
    return None


def _default_devices(mesh: Any) -> tuple[Any, ...]:
    if mesh is None:
        return (backend.default_device(),)
    return tuple(mesh._internal_device_list)


def _default_sharding(devices: tuple[Any, ...], found: list[Any], mesh: Any) -> Any:
    if len(devices) == 1:
        return single_device_sharding(devices[0])
    if mesh is not None and tuple(mesh._internal_device_list) == devices:
        return named_sharding(mesh, PartitionSpec())
    for sharding in found:
        if isinstance(sharding, NamedSharding):
            return named_sharding(sharding.mesh, PartitionSpec())
    return found[0]


def _conflict(function: str, found: list[tuple[str, Any]]) -> str:
    lines = "\n".join(f"  {name}: {[str(d) for d in devices_of(s)]}" for name, s in found)
    return (
        f"{function}: given values on different devices:\n{lines}\nexpected one set of devices in "
        "one order. Move them with device_put(x, device_or_sharding), or make them uncommitted."
    )
