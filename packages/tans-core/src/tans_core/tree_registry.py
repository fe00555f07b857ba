"""The registry of container classes, and how a class becomes a container.

Tans has its own instance of jaxlib's C++ registry. It is pickled as a global name, so its name and
module are set, and treedefs can be pickled.
"""

import collections
import dataclasses
import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final

from tans_core._jaxlib import pytree as _pytree

type Children = Iterable[Any]
type AuxData = Hashable  # compared by == when structures are compared
type KeyedChildren = Iterable[tuple[Any, Any]]

registry: Final = _pytree.PyTreeRegistry()
registry.__name__ = "registry"
registry.__module__ = __name__
# What the C++ side of jit flattens calls with: beside all containers, values that wrap one array
# (keys), so that calls with them need no Python of ours but to unwrap and wrap.
dispatch_registry: Final = _pytree.PyTreeRegistry()


def register_pytree_node[T](
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Children, AuxData]],
    unflatten_func: Callable[[AuxData, Children], T],
    flatten_with_keys_func: Callable[[T], tuple[KeyedChildren, AuxData]] | None = None,
) -> None:
    """Make a class a container.

    Args:
      nodetype: the class; subclasses are registered apart.
      flatten_func: returns (children, auxiliary data); the data is hashable and comparable.
      unflatten_func: the inverse; takes (auxiliary data, children). It must accept children of any
        class, because transformations put placeholders into containers.
      flatten_with_keys_func: returns (((key, child), ...), auxiliary data), for key paths.

    Raises:
      ValueError: the class is registered already.
    """
    for each in (registry, dispatch_registry):
        each.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_node_class[C: type[Any]](cls: C) -> C:
    """Class decorator: make a class with `tree_flatten` and `tree_unflatten` a container.

    Args:
      cls: has a method ``tree_flatten()`` that returns (children, auxiliary data), and a class
        method ``tree_unflatten(aux_data, children)``.

    Example:
      >>> @register_pytree_node_class
      ... class Point:
      ...     def __init__(self, x, y):
      ...         self.x, self.y = x, y
      ...     def tree_flatten(self):
      ...         return (self.x, self.y), None
      ...     @classmethod
      ...     def tree_unflatten(cls, aux_data, children):
      ...         return cls(*children)
      >>> registry.flatten(Point(1, 2))[0]
      [1, 2]
    """
    flatten = operator.methodcaller("tree_flatten")
    register_pytree_node(cls, flatten, cls.tree_unflatten)
    return cls


def register_pytree_with_keys[T](
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[KeyedChildren, AuxData]],
    unflatten_func: Callable[[AuxData, Children], T],
    flatten_func: Callable[[T], tuple[Children, AuxData]] | None = None,
) -> None:
    """Make a class a container whose children have keys in key paths.

    Args:
      nodetype: the class.
      flatten_with_keys: returns (((key, child), ...), auxiliary data).
      unflatten_func: takes (auxiliary data, children).
      flatten_func: as `flatten_with_keys` without the keys, for speed.
    """

    def without_keys(node: T) -> tuple[Children, AuxData]:
        keyed, aux = flatten_with_keys(node)
        return [child for _, child in keyed], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class[C: type[Any]](cls: C) -> C:
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys`."""
    flatten = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    keyed = operator.methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, keyed, cls.tree_unflatten, flatten)
    return cls


def register_static[C: type[Any]](cls: C) -> C:
    """Class decorator: instances are containers without children, all of them auxiliary data.

    Args:
      cls: a class whose instances are hashable and comparable.
    """
    register_pytree_node(cls, lambda value: ((), value), lambda value, _: value)
    return cls


def register_dataclass(
    nodetype: Any = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Make a dataclass (or a class built by keywords) a container.

    Args:
      nodetype: the class; without it a decorator is returned.
      data_fields: fields that are children. For a dataclass, all fields by default, except those
        with ``metadata={"static": True}`` (see `tans_core.tree.static`).
      meta_fields: fields that are auxiliary data: hashable and comparable.
      drop_fields: fields with ``init=True`` that are left out on purpose.

    Returns:
      The class.

    Raises:
      TypeError: one of `data_fields` and `meta_fields` is missing.
      ValueError: a field of the dataclass is in none of the lists, or a listed one is unknown.

    Example:
      >>> @register_dataclass
      ... @dataclasses.dataclass
      ... class Layer:
      ...     weights: object
      ...     name: str = dataclasses.field(metadata={"static": True})
      >>> registry.flatten(Layer(1.0, "first"))[0]
      [1.0]
    """
    if nodetype is None:
        return functools.partial(
            register_dataclass,
            data_fields=data_fields,
            meta_fields=meta_fields,
            drop_fields=drop_fields,
        )
    if data_fields is None and meta_fields is None and dataclasses.is_dataclass(nodetype):
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    _check_fields(nodetype, data_fields, meta_fields, drop_fields)
    for each in (registry, dispatch_registry):
        each.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))  # type: ignore
    return nodetype


def _check_fields(
    nodetype: Any,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> None:
    if data_fields is None or meta_fields is None:
        raise TypeError(
            f"register_dataclass: given {nodetype!r} with data_fields={data_fields} and "
            f"meta_fields={meta_fields}; expected a dataclass with neither, or both lists. "
            "List every field in one of the two."
        )
    if not dataclasses.is_dataclass(nodetype):
        return
    known = {field.name for field in dataclasses.fields(nodetype) if field.init}
    listed = {*data_fields, *meta_fields}
    missing, surplus = known - listed - {*drop_fields}, listed - known
    if missing or surplus:
        raise ValueError(
            f"register_dataclass: {nodetype}: given data_fields and meta_fields"
            f"{f' without {sorted(missing)}' if missing else ''}"
            f"{f' with unknown {sorted(surplus)}' if surplus else ''}; expected every field with "
            "init=True in one of the lists. Put fields to leave out into drop_fields."
        )


def _dict_keys(keys: Iterable[Any], node: Any) -> list[tuple[Any, Any]]:
    return [(_pytree.DictKey(key), node[key]) for key in keys]


def _ordered_dict_from(keys: Any, values: Children) -> collections.OrderedDict[Any, Any]:
    return collections.OrderedDict(zip(keys, values, strict=True))


def _default_dict_aux(node: collections.defaultdict[Any, Any]) -> Any:
    return node.default_factory, tuple(sorted(node))


def _default_dict_from(aux: Any, values: Children) -> collections.defaultdict[Any, Any]:
    factory, keys = aux
    return collections.defaultdict(factory, zip(keys, values, strict=True))


register_pytree_node(
    collections.OrderedDict,
    lambda node: (tuple(node.values()), tuple(node)),
    _ordered_dict_from,
    lambda node: (_dict_keys(node, node), tuple(node)),
)
register_pytree_node(
    collections.defaultdict,
    lambda node: (tuple(node[key] for key in sorted(node)), _default_dict_aux(node)),
    _default_dict_from,
    lambda node: (_dict_keys(sorted(node), node), _default_dict_aux(node)),
)


class _Callee:
    """A callable that `functools.partial` does not unpack, so that its arguments stay static."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Callee) and self.fun == other.fun

    def __repr__(self) -> str:
        return repr(self.fun)


class Partial(functools.partial[Any]):
    """`functools.partial` as a container: its arguments are children, its function is not.

    Args:
      func: the function; compared by ``==``. A `functools.partial` keeps its arguments inside.
      *args: leading arguments, trees.
      **kw: keyword arguments, trees.

    Example:
      >>> add = Partial(lambda x, y: x + y, 1)
      >>> registry.flatten(add)[0]
      [1]
      >>> add(2)
      3
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> "Partial":
        """Return a new partial; nested ones are kept apart."""
        if issubclass(type(func), functools.partial):
            func = _Callee(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: _make_partial(func, *children),
)


def _make_partial(func: Any, args: Any, keywords: Any) -> Partial:
    return Partial(func, *args, **keywords)
