"""Structures of arguments and results as JSON, and how classes of the user's take part."""

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tans_core import tree

type Json = Any


class _Registered(NamedTuple):
    nodetype: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


_by_type: Final[dict[type, _Registered]] = {}
_by_name: Final[dict[str, _Registered]] = {}
_LEAF: Final = tree.structure(0)


def register_pytree_node_serialization[T](
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Say how a container class is written in exported programs.

    Args:
      nodetype: the class, registered as a pytree node.
      serialized_name: its name in the file; the same where the file is read.
      serialize_auxdata: from the node's auxiliary data to bytes.
      deserialize_auxdata: the inverse.
      from_children: not needed: nodes are made as the class was registered to be made.

    Raises:
      ValueError: the class or the name is registered already.
    """
    del from_children
    if nodetype in _by_type or serialized_name in _by_name:
        raise ValueError(
            f"register_pytree_node_serialization: given {nodetype.__name__} as "
            f"{serialized_name!r}, expected a class and a name that are not registered yet. "
            "Register each class once, at import."
        )
    entry = _Registered(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata)
    _by_type[nodetype] = _by_name[serialized_name] = entry
    return nodetype


def register_namedtuple_serialization[T](nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Say how a named tuple class is written in exported programs.

    Args:
      nodetype: the class.
      serialized_name: its name in the file.

    Raises:
      ValueError: `nodetype` is no named tuple, or it or the name is registered already.
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(
            f"register_namedtuple_serialization: given {nodetype.__name__}, expected a class made "
            "by NamedTuple or namedtuple. Use register_pytree_node_serialization for others."
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
    )


def to_json(treedef: Any) -> Json:
    """Return a structure as JSON.

    Raises:
      ValueError: it has a class that is not registered for this.
    """
    data = treedef.node_data()
    if data is None:
        return "*"
    kind, aux = data
    children = [to_json(child) for child in treedef.children()]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return [kind.__name__, *children]
    if kind is dict and all(isinstance(key, str) for key in aux):
        return ["dict", list(aux), *children]
    entry = _by_type.get(kind)
    if entry is None:
        raise ValueError(
            f"serialize: given arguments or results with a {kind.__name__}, expected tuples, "
            "lists, dicts with string keys, None, and registered classes. Call "
            "register_pytree_node_serialization or register_namedtuple_serialization for "
            f"{kind.__name__}."
        )
    written = base64.b64encode(entry.serialize(aux)).decode()
    return ["node", entry.name, written, *children]


def from_json(data: Json) -> Any:
    """Return the structure in JSON.

    Raises:
      ValueError: it is no such JSON, or names a class that is not registered here.
    """
    match data:
        case "*":
            return _LEAF
        case None:
            return tree.structure(None)
        case ["tuple", *children]:
            return _node(tuple, None, children)
        case ["list", *children]:
            return _node(list, None, children)
        case ["dict", list(keys), *children] if len(keys) == len(children):
            return _node(dict, keys, children)
        case ["node", str(name), str(aux), *children]:
            entry = _by_name.get(name)
            if entry is not None:
                return _node(entry.nodetype, entry.deserialize(base64.b64decode(aux)), children)
            raise ValueError(
                f"deserialize: given a program with a container written as {name!r}, expected a "
                "name that is registered here. Import the module that registers it with "
                "register_pytree_node_serialization."
            )
    raise ValueError(f"deserialize: given {data!r} for a structure, expected one that can be read.")


def _node(kind: type, aux: Any, children: Sequence[Json]) -> Any:
    made = list(map(from_json, children))
    return _LEAF.from_node_data_and_children(tree.registry, (kind, aux), made)
