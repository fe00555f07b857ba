"""Operations on pytrees: nested containers whose leaves are arrays or any other values.

The names are those of ``tans.tree``. The C++ registry does the work; `registry` and the classes
around it are in `tans_core.tree_registry`.
"""

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, overload

from tans_core._jaxlib import pytree as _pytree
from tans_core.tree_paths import IsLeaf, KeyPath, Tree, raise_prefix_error
from tans_core.tree_registry import registry as registry

type Leaf = Any
PyTreeDef: Final = _pytree.PyTreeDef


class _Absent:
    """Type of the mark for "no argument given"."""

    def __repr__(self) -> str:
        return "<absent>"


_ABSENT: Final = _Absent()


def flatten(tree: Tree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], Any]:
    """Return the leaves of a tree in order, and its structure.

    Args:
      tree: any containers and leaves; None is a container without children.
      is_leaf: makes a subtree a leaf when it returns True.

    Example:
      >>> flatten({"b": 1, "a": (2, None)})
      ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    return registry.flatten(tree, is_leaf)


def unflatten(treedef: Any, leaves: Iterable[Leaf]) -> Tree:
    """Return the tree with a structure and leaves; the inverse of `flatten`.

    Args:
      treedef: the structure.
      leaves: as many values as the structure has leaves, in its order.

    Raises:
      ValueError: too few or too many leaves.
    """
    return treedef.unflatten(leaves)


def leaves(tree: Tree, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree in order."""
    return registry.flatten(tree, is_leaf)[0]


def structure(tree: Tree, is_leaf: IsLeaf | None = None) -> Any:
    """Return the structure of a tree: its containers, without the leaves."""
    return registry.flatten(tree, is_leaf)[1]


def map(f: Callable[..., Any], tree: Tree, *rest: Tree, is_leaf: IsLeaf | None = None) -> Tree:
    """Apply a function to the leaves of a tree, together with the subtrees of others.

    Args:
      f: takes one leaf of `tree` and the subtree at the same place of each of `rest`.
      tree: gives the structure of the result.
      *rest: trees of which `tree` is a prefix.
      is_leaf: makes a subtree of `tree` a leaf when it returns True.

    Returns:
      A tree with the structure of `tree`.

    Raises:
      ValueError: a tree of `rest` has another structure; the text says where.

    Example:
      >>> map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
      {'a': 11, 'b': (22,)}
    """
    flat, treedef = registry.flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(x) for x in flat])
    columns = [flat, *(_flatten_up_to(treedef, tree, other, is_leaf) for other in rest)]
    return treedef.unflatten([f(*row) for row in zip(*columns, strict=True)])


def _flatten_up_to(treedef: Any, tree: Tree, other: Tree, is_leaf: IsLeaf | None) -> list[Any]:
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        fallback = error
    raise_prefix_error("tree.map", "tree", tree, other, is_leaf, fallback=fallback)
    raise AssertionError("unreachable")


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Tree,
    initializer: Any = _ABSENT,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree from left to right.

    Args:
      function: takes the value so far and a leaf.
      tree: the tree.
      initializer: value before the first leaf.
      is_leaf: makes a subtree a leaf.

    Raises:
      TypeError: no leaves and no initializer.

    Example:
      >>> reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
      6
    """
    start = () if initializer is _ABSENT else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *start)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Tree,
    *,
    identity: Any = _ABSENT,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree pairwise, in a balanced order.

    Args:
      operation: associative.
      tree: the tree.
      identity: the result for a tree without leaves.
      is_leaf: makes a subtree a leaf.

    Raises:
      TypeError: no leaves and no identity.

    Example:
      >>> reduce_associative(lambda a, b: (a, b), [1, 2, 3])
      (1, (2, 3))
    """
    values = leaves(tree, is_leaf)
    if not values:
        if identity is _ABSENT:
            raise TypeError(
                "tree.reduce_associative: given a tree without leaves; expected a leaf or an "
                "identity. Pass identity=..."
            )
        return identity
    return _balanced(operation, values)


def _balanced(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(_balanced(operation, values[:half]), _balanced(operation, values[half:]))


def all(tree: Tree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf of a tree is true.

    Example:
      >>> all({"a": True, "b": [1, 0]})
      False
    """
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer_treedef: Any, inner_treedef: Any | None, pytree_to_transpose: Tree) -> Tree:
    """Exchange the outer and the inner containers of a tree.

    Args:
      outer_treedef: structure of the outer containers.
      inner_treedef: structure of each subtree; None means that of the first one.
      pytree_to_transpose: a tree of the composed structure.

    Returns:
      A tree of inner structure whose leaves have the outer structure.

    Raises:
      TypeError: the tree has another structure.
      ValueError: a structure has no leaves.

    Example:
      >>> transpose(structure([0, 0]), structure({"a": 0}), [{"a": 1}, {"a": 2}])
      {'a': [1, 2]}
    """
    flat, treedef = registry.flatten(pytree_to_transpose)
    if inner_treedef is None:
        first = outer_treedef.flatten_up_to(pytree_to_transpose)[0]
        return transpose(outer_treedef, structure(first), pytree_to_transpose)
    inner_size, outer_size = inner_treedef.num_leaves, outer_treedef.num_leaves
    if not inner_size or not outer_size:
        raise ValueError(
            f"tree.transpose: given outer structure {outer_treedef} and inner {inner_treedef}; "
            "expected at least one leaf in each. Leave trees without leaves as they are."
        )
    # Containers may differ in class (dict and OrderedDict); only the leaves have to match up.
    if treedef.num_leaves != inner_size * outer_size:
        raise TypeError(
            f"tree.transpose: given a tree of structure {treedef}; expected "
            f"{outer_treedef.compose(inner_treedef)}. Pass the structures it is composed of."
        )
    columns = [flat[i::inner_size] for i in range(inner_size)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def broadcast_prefix(
    prefix_tree: Tree, full_tree: Tree, is_leaf: IsLeaf | None = None, name: str = "prefix_tree"
) -> list[Leaf]:
    """Return, for each leaf of a tree, the leaf of its prefix that stands for it.

    Args:
      prefix_tree: a prefix of `full_tree`.
      full_tree: the tree.
      is_leaf: makes a subtree of `prefix_tree` a leaf.
      name: what the user knows the prefix as.

    Raises:
      ValueError: `prefix_tree` is not a prefix; the text says where.
    """
    flat, treedef = registry.flatten(prefix_tree, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full_tree)
    except ValueError as error:
        fallback = error
    else:
        flatten = registry.flatten
        return [
            leaf for leaf, subtree in zip(flat, subtrees, strict=True) for _ in flatten(subtree)[0]
        ]
    raise_prefix_error("tree.broadcast", name, prefix_tree, full_tree, is_leaf, fallback=fallback)
    raise AssertionError("unreachable")


def broadcast(prefix_tree: Tree, full_tree: Tree, is_leaf: IsLeaf | None = None) -> Tree:
    """Repeat the leaves of a prefix so that it has the structure of the full tree.

    Args:
      prefix_tree: a prefix of `full_tree`.
      full_tree: gives the structure.
      is_leaf: makes a subtree of `full_tree` a leaf.

    Raises:
      ValueError: `prefix_tree` is not a prefix; the text says where.

    Example:
      >>> broadcast({"a": 1, "b": 2}, {"a": 0, "b": [0, 0]})
      {'a': 1, 'b': [2, 2]}
    """
    flat = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return structure(full_tree).unflatten(flat)


def flatten_with_path(
    tree: Tree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], Any]:
    """Return the (key path, leaf) pairs of a tree in order, and its structure.

    Args:
      tree: the tree.
      is_leaf: makes a subtree a leaf when it returns True.
      is_leaf_takes_path: whether `is_leaf` is called with (path, subtree).
    """
    if is_leaf is None or is_leaf_takes_path:
        return registry.flatten_with_path(tree, is_leaf)
    return registry.flatten_with_path(tree, lambda _, subtree: is_leaf(subtree))


def leaves_with_path(
    tree: Tree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """Return the (key path, leaf) pairs of a tree in order."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Tree,
    *rest: Tree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Tree:
    """Apply a function to the key paths and leaves of a tree; see `map`.

    Args:
      f: takes a key path, the leaf there, and the subtree there of each of `rest`.
      tree: gives the structure.
      *rest: trees of which `tree` is a prefix.
      is_leaf: makes a subtree of `tree` a leaf when it returns True.
      is_leaf_takes_path: whether `is_leaf` is called with (path, subtree).

    Example:
      >>> from tans_core.tree_paths import keystr
      >>> map_with_path(lambda path, x: keystr(path), {"a": [1, 2]})
      {'a': ["['a'][0]", "['a'][1]"]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [_flatten_up_to(treedef, tree, other, None) for other in rest]
    rows = zip(*zip(*pairs, strict=True), *others, strict=True) if pairs else ()
    return treedef.unflatten([f(*row) for row in rows])


@overload
def static[T](*, default: T, **kwargs: Any) -> T: ...
@overload
def static(**kwargs: Any) -> Any: ...
def static(**kwargs: Any) -> Any:
    """Return a dataclass field that `register_dataclass` treats as auxiliary data.

    Args:
      **kwargs: as for `dataclasses.field`.

    Example:
      >>> @dataclasses.dataclass
      ... class Layer:
      ...     weights: object
      ...     name: str = static(default="layer")
      >>> Layer(1.0).name
      'layer'
    """
    metadata = {**kwargs.pop("metadata", {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)
