"""Attributes that XLA keeps with operations: on calls, on all that a block traces, on one value."""

import functools
from collections.abc import Callable
from typing import Any, Final, Self

from tans_core import Primitive, is_value, tree
from tans_core.config import xla_metadata
from tans_xla.jit.dispatch import Jitted
from tans_xla.jit.signature import JitOptions
from tans_xla.operation_metadata import as_text

type Tags = tuple[tuple[str, str], ...]
type Function = Callable[..., Any]

__all__ = [
    "fuse_limit",
    "must_fuse_call",
    "set_xla_metadata",
    "xla_metadata_call",
    "xla_metadata_call2",
    "xla_metadata_call_p",
    "xla_metadata_value_p",
]

xla_metadata_call_p: Final = Primitive(
    "xla_metadata_call", family=__name__, multiple_results=True, call_like=True
)
# Lowered where it stands, since it changes the operation that made its operand: like a call.
xla_metadata_value_p: Final = Primitive("xla_metadata_value", family=__name__, call_like=True)


def _items(metadata: dict[str, Any], function: str) -> list[tuple[str, Any]]:
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise TypeError(
                f"{function}: given {name!r}: {value!r} of type {type(value).__name__}; expected "
                "names with values that are str, bool, int or float. Pass str(value)."
            )
        if not name:
            raise ValueError(
                f"{function}: given the name {name!r} for {value!r}, expected one of one letter or "
                "more. Give the attribute a name."
            )
        for text in (name, value):
            if isinstance(text, str) and not _is_unicode(text):
                raise ValueError(
                    f"{function}: given {name!r}: {value!r}, expected text that UTF-8 can hold. "
                    "Remove the lone surrogates."
                )
    return sorted(metadata.items())


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tags(metadata: dict[str, Any], function: str) -> Tags:
    return tuple((name, as_text(value)) for name, value in _items(metadata, function))


def _wrap(fun: Any, tags: Tags, ad_metadata: Any, function: str) -> Function:
    if not callable(fun):
        raise TypeError(
            f"{function}: given {fun!r} of type {type(fun).__name__}, expected a callable to wrap. "
            "Pass the function itself; attributes are keyword arguments or a dict."
        )
    jitted = Jitted(fun, JitOptions())

    @functools.wraps(fun)
    def tagged_call(*args: Any, **kwargs: Any) -> Any:
        call, program = jitted.trace(args, kwargs, function)
        outs = xla_metadata_call_p.bind(
            *program.consts,
            *call.leaves,
            jaxpr=program.closed,
            xla_metadata=tags,
            ad_metadata=ad_metadata,
        )
        return program.out_tree.unflatten(outs)

    return tagged_call


def xla_metadata_call(f: Function | None = None, /, **meta: Any) -> Any:
    """Make calls of `f` carry attributes, which XLA hands on to the operations of its body.

    The call stays a call in the program. Its derivative and its batched form carry the attributes
    too. Of nested calls the innermost wins.

    Args:
      f: a function of arrays of any shape and trees of them; without it, the result is a decorator.
      **meta: attributes: str, bool, int or float.

    Raises:
      TypeError: an attribute has another type, or `f` is not callable.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> block = xla_metadata_call(lax.sin, stage="encoder")
      >>> float(block(np.float32(0.0)))
      0.0
    """
    name = "xla_metadata_call"
    tags = _tags(meta, name)
    if f is None:
        return lambda fun: _wrap(fun, tags, "same", name)
    return _wrap(f, tags, "same", name)


def xla_metadata_call2(
    f: Any = None, /, metadata: dict[str, Any] | None = None, *, ad_metadata: Any = "same"
) -> Any:
    """Make calls of `f` carry attributes, with a choice for those of its derivative.

    Args:
      f: a function of arrays; or the attributes, and the result is a decorator.
      metadata: the attributes; none by default.
      ad_metadata: attributes of the derived computations of reverse mode: "same", "drop" for none,
        or a dict. A forward-mode derivative is one call with the attributes of `f`.

    Raises:
      TypeError: an argument has another type.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> layer = xla_metadata_call2(lax.sin, {"pass": "fwd"}, ad_metadata={"pass": "bwd"})
      >>> float(layer(np.float32(0.0)))
      0.0
    """
    name = "xla_metadata_call2"
    decorating = isinstance(f, dict) or f is None
    if isinstance(f, dict) and metadata is not None:
        raise TypeError(
            f"{name}: given the attributes {f!r} and {metadata!r}, expected a function and its "
            "attributes, or attributes alone for a decorator. Write {**first, **second}."
        )
    given = f if isinstance(f, dict) else metadata
    if given is not None and not isinstance(given, dict):
        raise TypeError(
            f"{name}: given metadata={given!r} of type {type(given).__name__}, expected a dict "
            "from names to values, such as {'stage': 'encoder'}."
        )
    tags = _tags(given or {}, name)
    if isinstance(ad_metadata, dict):
        ad_metadata = _tags(ad_metadata, name)
    elif ad_metadata not in ("same", "drop"):
        raise TypeError(
            f"{name}: given ad_metadata={ad_metadata!r}, expected 'same', 'drop' or a dict of "
            "attributes. Leave it out to tag the derivative like the function."
        )
    if decorating:
        return lambda fun: _wrap(fun, tags, ad_metadata, name)
    return _wrap(f, tags, ad_metadata, name)


def must_fuse_call(identifier: str) -> Callable[[Function], Function]:
    """Return a decorator that asks XLA to make one fusion of each call of a function.

    Args:
      identifier: name of the fusion. Whether the backend obeys shows in the compiled program; see
        `tans_compiler.surviving_tags`.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> square = must_fuse_call("square")(lambda x: lax.mul(x, x))
      >>> float(square(np.float32(3.0)))
      9.0
    """
    if callable(identifier):
        raise TypeError(
            f"must_fuse_call: given {identifier!r}, expected the name of a fusion, as a str. Write "
            "must_fuse_call('name')(f)."
        )
    return xla_metadata_call(MUST_FUSE=identifier)


def fuse_limit() -> "_Scope":
    """Return a context that asks XLA to limit the fusion of operations traced inside."""
    return set_xla_metadata(FUSE_LIMIT=True)


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Give attributes to operations: to all that are traced in a block, or to one value's.

    Args:
      x: None for a context manager, which also decorates functions. Otherwise a tree of arrays of
        any shape: the operation that computes each leaf gets the attributes, and the tree is
        returned. Arguments of a program have no such operation; derivatives drop the attributes.
      **kwargs: attributes: str, bool, int or float. None removes one that an enclosing block set.

    Raises:
      TypeError: an attribute has another type.

    Example:
      >>> import tans_lax as lax
      >>> from tans_xla import jit
      >>> @jit
      ... def f(x):
      ...     with set_xla_metadata(stage="head"):
      ...         return lax.sin(x)
      >>> 'stage = "head"' in f.lower(1.0).as_text()
      True
    """
    if x is None:
        removed = frozenset(name for name, value in kwargs.items() if value is None)
        kept = {name: value for name, value in kwargs.items() if value is not None}
        return _Scope(_tags(kept, "set_xla_metadata"), removed)
    items = tuple(_items(kwargs, "set_xla_metadata"))
    for leaf in tree.leaves(x):
        if not is_value(leaf):
            raise TypeError(
                f"set_xla_metadata: given x with {leaf!r} of type {type(leaf).__name__}, expected "
                "arrays. For all that a function traces, decorate it: set_xla_metadata(name=value)"
                "(f)."
            )
    if not items:
        return x
    return tree.map(lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=items), x)


class _Scope:
    """Adds attributes to those in force on this thread, inside a block or a decorated function."""

    __slots__ = ("_old", "_removed", "_tags")

    def __init__(self, tags: Tags, removed: frozenset[str]) -> None:
        self._tags = tags
        self._removed = removed
        self._old: list[Any] = []

    def __enter__(self) -> Self:
        old = xla_metadata.value
        tags = {**dict(old or ()), **dict(self._tags)}
        kept = sorted((name, tag) for name, tag in tags.items() if name not in self._removed)
        self._old.append(old)
        xla_metadata.set_local(tuple(kept) or None)
        return self

    def __exit__(self, *_: object) -> None:
        xla_metadata.set_local(self._old.pop())

    def __call__(self, fun: Function) -> "_Scoped":
        return _Scoped(fun, self._tags, self._removed)


class _Scoped:
    """A function whose calls and methods (such as `lower`) run inside of a scope."""

    def __init__(self, fun: Function, tags: Tags, removed: frozenset[str]) -> None:
        functools.update_wrapper(self, fun)
        self.__wrapped__ = fun
        self._scope = tags, removed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _Scope(*self._scope):
            return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        return _Scoped(found, *self._scope) if callable(found) else found
