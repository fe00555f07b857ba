"""The ``in_shardings`` and ``out_shardings`` options, from trees to one entry per leaf."""

from typing import Any

from tans_core import config, tree
from tans_core._jaxlib import Sharding
from tans_core.partition_spec import PartitionSpec
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
        flat_in = _broadcast(ins.tree, args, f"{name}: in_shardings")
        flat_in += (None,) * (in_tree.num_leaves - len(flat_in))
    flat_out: tuple[Any, ...] = (None,) * out_tree.num_leaves
    if outs is not None:
        result = out_tree.unflatten([0] * out_tree.num_leaves)
        flat_out = _broadcast(outs.tree, result, f"{name}: out_shardings")
    return flat_in, flat_out


def _broadcast(prefix: Any, full: Any, where: str) -> tuple[Any, ...]:
    if prefix is None or _is_leaf(prefix) or isinstance(prefix, Sharding):
        return (_concrete(prefix),) * len(tree.leaves(full))
    leaves = tree.broadcast_prefix(prefix, full, is_leaf=lambda x: x is None or _is_leaf(x))
    return tuple(_concrete(s) for s in leaves)


def _concrete(sharding: Any) -> Any:
    if not isinstance(sharding, PartitionSpec):
        return sharding
    mesh = config.abstract_mesh.value
    raise ValueError(
        f"jit: given the spec {sharding} without a mesh, the context mesh is {mesh}; expected a "
        "NamedSharding or a context mesh. Write NamedSharding(mesh, spec)."
    )
