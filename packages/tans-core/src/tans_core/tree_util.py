"""The names of ``tans.tree_util``: the tree operations under their long names, and registration."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from tans_core import tree as _tree
from tans_core._jaxlib import pytree as _pytree
from tans_core.tree import PyTreeDef as PyTreeDef
from tans_core.tree_paths import DictKey as DictKey
from tans_core.tree_paths import FlattenedIndexKey as FlattenedIndexKey
from tans_core.tree_paths import GetAttrKey as GetAttrKey
from tans_core.tree_paths import KeyEntry as KeyEntry
from tans_core.tree_paths import KeyPath as KeyPath
from tans_core.tree_paths import SequenceKey as SequenceKey
from tans_core.tree_paths import keystr as keystr
from tans_core.tree_registry import Partial as Partial
from tans_core.tree_registry import register_dataclass as register_dataclass
from tans_core.tree_registry import register_pytree_node as register_pytree_node
from tans_core.tree_registry import register_pytree_node_class as register_pytree_node_class
from tans_core.tree_registry import register_pytree_with_keys as register_pytree_with_keys
from tans_core.tree_registry import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from tans_core.tree_registry import register_static as register_static
from tans_core.tree_registry import registry

default_registry: Final = registry

tree_all: Final = _tree.all
tree_broadcast: Final = _tree.broadcast
tree_flatten: Final = _tree.flatten
tree_flatten_with_path: Final = _tree.flatten_with_path
tree_leaves: Final = _tree.leaves
tree_leaves_with_path: Final = _tree.leaves_with_path
tree_map: Final = _tree.map
tree_map_with_path: Final = _tree.map_with_path
tree_reduce: Final = _tree.reduce
tree_reduce_associative: Final = _tree.reduce_associative
tree_structure: Final = _tree.structure
tree_transpose: Final = _tree.transpose
tree_unflatten: Final = _tree.unflatten


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every element is a leaf rather than a container.

    Example:
      >>> all_leaves([1, "a"]), all_leaves([1, [2]])
      (True, False)
    """
    if is_leaf is None:
        return _pytree.all_leaves(registry, iterable)
    items = list(iterable)
    found = _tree.leaves(items, is_leaf)
    return len(found) == len(items) and all(a is b for a, b in zip(found, items, strict=True))


def treedef_children(treedef: Any) -> list[Any]:
    """Return the structures of the children of the outermost container."""
    return treedef.children()


def treedef_is_leaf(treedef: Any) -> bool:
    """Whether a structure is a single node: a leaf, or a container without children."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[Any]) -> Any:
    """Return the structure of a tuple whose elements have the given structures."""
    return _pytree.treedef_tuple(registry, list(treedefs))


def is_tree_node(typ: type) -> bool:
    """Whether a class is a registered container."""
    return registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return the children of the outermost container, and its auxiliary data.

    Raises:
      ValueError: `tree` is a leaf.
    """
    return _one_level(registry.flatten_one_level, tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return the (key, child) pairs of the outermost container, and its auxiliary data.

    Raises:
      ValueError: `tree` is a leaf.
    """
    return _one_level(registry.flatten_one_level_with_keys, tree)


def _one_level(flatten: Callable[[Any], Any], tree: Any) -> Any:
    found = flatten(tree)
    if found is None:
        raise ValueError(
            f"flatten_one_level: given a leaf of class {type(tree).__name__}; expected a "
            "container. Register the class with register_pytree_node to make it one."
        )
    return found
