"""Saved values of a VJP object: marks for those left out, and trees that say which to save."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_core import tree
from tans_core.errors import message
from tans_core.tree_util import (
    flatten_one_level,
    is_tree_node,
    keystr,
    register_pytree_node,
    tree_flatten_with_path,
)

type Pytree = Any


@dataclasses.dataclass(frozen=True)
class NotNeeded:
    """Stands in `VJP.args_res` for an argument that the backward pass doesn't read."""


@dataclasses.dataclass(frozen=True)
class NotSaveable:
    """Stands in `VJP.args_res` for an argument that must be put back before the backward pass."""


register_pytree_node(NotNeeded, lambda _: ((), None), lambda *_: NotNeeded())
register_pytree_node(NotSaveable, lambda _: ((), None), lambda *_: NotSaveable())


def is_mark(x: Any) -> bool:
    """Whether `x` stands for a value that was not saved."""
    return type(x) is NotNeeded or type(x) is NotSaveable


def mirror(args: Pytree, next_leaf: Callable[[], Any]) -> Pytree:
    """Rebuild a tree with other leaves.

    Args:
      args: tuples, lists, dicts and None are kept; other containers become tuples.
      next_leaf: called once per leaf, in order.
    """
    if args is None:
        return None
    if isinstance(args, dict) and is_tree_node(type(args)):
        children, keys = flatten_one_level(args)
        keys = list(keys) if isinstance(keys, list | tuple) else sorted(args)
        return {k: mirror(child, next_leaf) for k, child in zip(keys, children, strict=True)}
    if is_tree_node(type(args)) or isinstance(args, tuple):
        children = [mirror(child, next_leaf) for child in flatten_one_level(args)[0]]
        return children if type(args) is list else tuple(children)
    return next_leaf()


def spread_flags(name: str, flags: Pytree, args: Pytree, path: str = "") -> list[bool]:
    """Return one bool per leaf of `args` from a loose prefix of it.

    Containers are compared by their number of children only, and by keys when both are dicts.

    Args:
      name: what the user knows the flags as, such as "saveable_args".
      flags: tree of bools; one bool stands for its whole subtree.
      args: the tree of arguments.
      path: where in the flags this is, for messages.

    Raises:
      ValueError: the flags don't fit; the text says where.
    """
    if isinstance(flags, bool):
        return [flags] * len(tree.leaves(args))
    here = f"{name}{path}"
    if not (flags is None or is_tree_node(type(flags)) or isinstance(flags, tuple)):
        raise ValueError(
            message(
                name,
                f"{here}, which is {flags!r} of type {type(flags).__name__}",
                "True, False or a tree of them",
                "Write True or False there.",
            )
        )
    children = [] if flags is None else list(flatten_one_level(flags)[0])
    if args is not None and not is_tree_node(type(args)) and not isinstance(args, tuple):
        raise ValueError(
            message(
                name,
                f"{here} with a container of flags for a single array",
                "one bool for a leaf",
                "Write True or False there.",
            )
        )
    below = [] if args is None else list(flatten_one_level(args)[0])
    if isinstance(flags, dict) and isinstance(args, dict) and sorted(flags) != sorted(args):
        raise ValueError(
            message(
                name,
                f"{here} with the keys {sorted(flags)}",
                f"{sorted(args)}",
                "Use the same keys, or one bool for the whole dict.",
            )
        )
    if len(children) != len(below):
        raise ValueError(
            message(
                name,
                f"{here} with {len(children)} flags for {len(below)} parts of the argument",
                "one flag per part, or a single one for all",
                "Give one entry per argument.",
            )
        )
    return [
        leaf
        for i, (child, part) in enumerate(zip(children, below, strict=True))
        for leaf in spread_flags(name, child, part, f"{path}[{i}]")
    ]


def argument_path(in_tree: Any, index: int) -> str:
    """Return the path of a leaf of an argument tuple or of an output, such as ``[0]['w']``."""
    pairs, _ = tree_flatten_with_path(in_tree.unflatten(range(in_tree.num_leaves)))
    return keystr(pairs[index][0])


def missing_text(args_res: Sequence[Pytree], function: str) -> str:
    """Name every value that must be restored before a VJP object can be applied."""
    pairs, _ = tree_flatten_with_path(tuple(args_res), is_leaf=is_mark)
    paths = [path for path, leaf in pairs if type(leaf) is NotSaveable]
    where = _assignable(args_res, paths[0])
    whole = "" if len(where) == len(paths[0]) else ", the whole tuple, since tuples don't change"
    return (
        "a VJP object was called while values that it does not hold are missing; expected:\n"
        + "\n".join(f"  - args{keystr(path)} of {function}" for path in paths)
        + f"\nPut them back, as in f_vjp.args_res{keystr(where)} = value{whole}; or use "
        "f_vjp.replace(args_res=...), which takes the arguments as they were."
    )


def _assignable(args_res: Sequence[Pytree], path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the longest start of a path that can be assigned to: up to the first tuple."""
    entry: Any = args_res[path[0].idx]
    for i, key in enumerate(path[1:], 1):
        if isinstance(entry, tuple):
            return path[:i]
        entry = entry[key.idx if hasattr(key, "idx") else key.key]
    return path
