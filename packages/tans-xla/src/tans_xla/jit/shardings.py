"""The ``in_shardings`` and ``out_shardings`` options, from trees to one entry per leaf."""

from typing import Any

from tans_core import config, tree
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import Sharding, named_sharding
from tans_xla.device_shardings import has_devices
from tans_xla.jit.signature import JitOptions


class Frozen:
    """A tree of shardings as a hashable option."""

    __slots__ = ("_key", "tree")

    def __init__(self, shardings: Any, option: str) -> None:
        self.tree = shardings
        leaves, treedef = tree.flatten(shardings, is_leaf=_is_leaf)
        for leaf in leaves:
            if not isinstance(leaf, Sharding | PartitionSpec):
                raise TypeError(
                    f"jit: given {option} with the entry {leaf!r} of type {type(leaf).__name__}; "
                    "expected NamedSharding or another Sharding, PartitionSpec or None. Write "
                    "for example NamedSharding(mesh, P('x'))."
                )
            if isinstance(leaf, Sharding) and not has_devices(leaf):
                raise ValueError(
                    f"jit: given {option} with the entry {leaf!r}, whose mesh is abstract; "
                    "expected a sharding over devices. Use a Mesh of devices in its place."
                )
        self._key = (tuple(leaves), treedef)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._key == other._key


def _is_leaf(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def flat_shardings(
    options: JitOptions, in_tree: Any, out_tree: Any, name: str
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return one sharding or None per dynamic leaf and per result."""
    ins = options.in_shardings
    outs = options.out_shardings
    flat_in: tuple[Any, ...] = (None,) * in_tree.num_leaves
    if ins is not None:
        args, kwargs = in_tree.unflatten([0] * in_tree.num_leaves)
        if kwargs:
            raise ValueError(
                f"{name}: given the keyword arguments {', '.join(sorted(kwargs))} together with "
                "in_shardings, which are matched by position; expected positional arguments only. "
                "Pass them by position."
            )
        flat_in = _broadcast(ins.tree, args, f"{name}: in_shardings")
    flat_out: tuple[Any, ...] = (None,) * out_tree.num_leaves
    if outs is not None:
        result = out_tree.unflatten([0] * out_tree.num_leaves)
        flat_out = _broadcast(outs.tree, result, f"{name}: out_shardings")
    return flat_in, flat_out


def _broadcast(prefix: Any, full: Any, where: str) -> tuple[Any, ...]:
    if prefix is None or _is_leaf(prefix) or isinstance(prefix, Sharding):
        return (_concrete(prefix),) * len(tree.leaves(full))
    try:
        leaves = tree.broadcast_prefix(prefix, full, is_leaf=lambda x: x is None or _is_leaf(x))
    except ValueError as error:
        text = str(error).removeprefix("tree.broadcast: ").replace("prefix_tree", "the option", 1)
        raise ValueError(f"{where}: {text}") from None
    return tuple(_concrete(s) for s in leaves)


def _concrete(sharding: Any) -> Any:
    if not isinstance(sharding, PartitionSpec):
        return sharding
    mesh = config.concrete_mesh.value
    if mesh is None:
        raise RuntimeError(
            f"jit: given the spec {sharding} without a mesh; expected a NamedSharding, or a mesh "
            "in context. Call set_mesh(mesh) first, or write NamedSharding(mesh, spec)."
        )
    return named_sharding(mesh, sharding)
