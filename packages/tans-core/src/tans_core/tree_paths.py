"""Key paths into pytrees, and messages that say where two trees differ.

jaxlib reports a structural mismatch without the place; here the two trees are walked together and
each difference is reported with its path, what was given and what was expected.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tans_core._jaxlib import pytree as _pytree
from tans_core.tree_registry import registry

type Tree = Any  # containers of leaves; a leaf is anything that isn't a registered container
type IsLeaf = Callable[[Any], bool]
type KeyEntry = Any  # one of the key classes below, or a user's key object
type KeyPath = tuple[KeyEntry, ...]

SequenceKey: Final = _pytree.SequenceKey
DictKey: Final = _pytree.DictKey
GetAttrKey: Final = _pytree.GetAttrKey
FlattenedIndexKey: Final = _pytree.FlattenedIndexKey


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text.

    Args:
      keys: the path, outermost key first.
      simple: leave brackets and quotes out.
      separator: text between keys.

    Example:
      >>> keystr((DictKey("a"), SequenceKey(0)))
      "['a'][0]"
      >>> keystr((DictKey("a"), SequenceKey(0)), simple=True, separator="/")
      'a/0'
    """
    show = _simple_key if simple else str
    return separator.join(map(show, keys))


def _simple_key(key: KeyEntry) -> str:
    if isinstance(key, SequenceKey):
        return str(key.idx)
    if isinstance(key, DictKey | FlattenedIndexKey):
        return str(key.key)
    if isinstance(key, GetAttrKey):
        return key.name
    return str(key)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place where a prefix tree does not fit a full tree.

    Attributes:
      path: where, from the root.
      given: what the prefix tree has there.
      expected: what would have fitted the full tree.
    """

    path: KeyPath
    given: str
    expected: str

    def describe(self, name: str) -> str:
        """Return the text for the user, who knows the prefix tree as `name`."""
        return f"{name}{keystr(self.path)}: given {self.given}; expected {self.expected}."


def prefix_mismatches(
    prefix: Tree, full: Tree, is_leaf: IsLeaf | None = None, path: KeyPath = ()
) -> Iterator[Mismatch]:
    """Yield the places where `prefix` is not a prefix of `full`, outermost first.

    Args:
      prefix: tree whose leaves may stand for whole subtrees of `full`.
      full: the tree to fit.
      is_leaf: stops the descent into `prefix`.
      path: prepended to the paths.
    """
    if is_leaf is not None and is_leaf(prefix):
        return
    given: Any = registry.flatten_one_level_with_keys(prefix)
    if given is None:
        return
    if type(prefix) is not type(full):
        yield Mismatch(path, _shown(prefix), _shown(full))
        return
    wanted: Any = registry.flatten_one_level_with_keys(full)
    given_children, wanted_children = [*given[0]], [*wanted[0]]
    mismatch = _level_mismatch(prefix, full, given_children, wanted_children, path)
    if mismatch is None and given[1] != wanted[1]:
        mismatch = Mismatch(
            path, f"{_shown(prefix)} with metadata {given[1]!r}", f"metadata {wanted[1]!r}"
        )
    if mismatch is not None:
        yield mismatch
        return
    for (key, child), (_, other) in zip(given_children, wanted_children, strict=True):
        yield from prefix_mismatches(child, other, is_leaf, (*path, key))


def _level_mismatch(
    prefix: Tree, full: Tree, given: list[Any], wanted: list[Any], path: KeyPath
) -> Mismatch | None:
    given_keys, wanted_keys = [key for key, _ in given], [key for key, _ in wanted]
    if given_keys == wanted_keys:
        return None
    if isinstance(prefix, dict):
        missing = [key.key for key in wanted_keys if key not in given_keys]
        surplus = [key.key for key in given_keys if key not in wanted_keys]
        notes = [f"without {missing}"] if missing else []
        if surplus:
            notes.append(f"with the unknown keys {surplus}")
        keys = [key.key for key in wanted_keys]
        if notes:
            return Mismatch(path, f"{_kind(prefix)} {' and '.join(notes)}", f"the keys {keys}")
        given_order = [key.key for key in given_keys]
        return Mismatch(path, f"{_kind(prefix)} with keys in the order {given_order}", f"{keys}")
    return Mismatch(path, f"{_kind(prefix)} of length {len(given)}", f"length {len(wanted)}")


def _kind(tree: Tree) -> str:
    name = type(tree).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _shown(tree: Tree) -> str:
    if tree is None:
        return "None"
    if issubclass(type(tree), list | tuple):
        return f"{_kind(tree)} of length {len(tree)}"
    if issubclass(type(tree), dict):
        return f"{_kind(tree)} with keys {[*tree]}"
    return _kind(tree)


def raise_prefix_error(
    where: str,
    name: str,
    prefix: Tree,
    full: Tree,
    is_leaf: IsLeaf | None = None,
    remedy: str = "",
    fallback: Exception | None = None,
) -> None:
    """Raise ValueError that lists where a prefix tree does not fit.

    Args:
      where: the public function.
      name: what the user knows the prefix tree as.
      prefix: the tree that should be a prefix.
      full: the tree it should fit.
      is_leaf: stops the descent into `prefix`.
      remedy: a sentence; has a default.
      fallback: raised when no difference is found.
    """
    lines = [m.describe(name) for m in prefix_mismatches(prefix, full, is_leaf)]
    if not lines:
        raise ValueError(f"{where}: {fallback}") from None
    remedy = remedy or "Give both trees the same containers with the same keys and lengths."
    raise ValueError(f"{where}: {' '.join(lines)} {remedy}") from None
