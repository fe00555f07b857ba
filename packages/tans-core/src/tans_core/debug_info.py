"""What a trace knows of the function it records: its name, place and argument names."""

import inspect
import re
import weakref
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, Final

from tans_core.tree_registry import registry


class DebugInfo:
    """Names for messages, found only when one is printed.

    Args:
      traced_for: name of the transformation, such as ``jit``.
      fun: the function; held weakly, because caches that live as long as the function keep its
        jaxprs, and those keep this object.
    """

    __slots__ = ("_arg_names", "_fun", "location", "name", "traced_for")

    def __init__(
        self, traced_for: str, fun: Callable[..., Any], arg_names: Sequence[str] = ()
    ) -> None:
        self.traced_for = traced_for
        self.name = name_of(fun)
        self.location = _Location(fun)
        try:
            # A bound method is made anew at each access; its object and function live on.
            kind = weakref.WeakMethod if isinstance(fun, MethodType) else weakref.ref
            self._fun: Callable[[], Any] = kind(fun)
        except TypeError:  # an object without weak references, such as a bound method of C code
            self._fun = _gone
        self._arg_names = tuple(arg_names)

    @property
    def fun(self) -> Callable[..., Any] | None:
        """The function, or None when it is gone."""
        return self._fun()

    @property
    def arg_names(self) -> tuple[str, ...]:
        """One name per flat argument, such as ``x['w']``; may be shorter."""
        return self._arg_names

    @property
    def place(self) -> str:
        """The function with its place, as messages show it."""
        location = str(self.location)
        at = f" at {location}" if location else ""
        return f"{self.name}{at}, traced for {self.traced_for}"

    @staticmethod
    def describe(
        info: "DebugInfo | None", invars: Sequence[Any], eqns: Sequence[Any], tracer: Any
    ) -> str:
        """Say where a recorded value came from: an argument, or the line of its equation."""
        where = f" in {info.place}" if info is not None else ""
        var = tracer.atom
        for i, invar in enumerate(invars):
            if invar is var:
                names = info.arg_names if info is not None else ()
                return f", argument {names[i] if i < len(names) else i}{where}"
        for eqn in eqns:
            if any(v is var for v in eqn.outvars):
                line = user_line(eqn.traceback)
                return f", computed by {eqn.primitive}{' at ' + line if line else ''}{where}"
        return where


class _Location:
    """Prints as the file and line of a function, or as an empty string."""

    __slots__ = ("_code", "_is_method")

    def __init__(self, fun: Callable[..., Any]) -> None:
        inner: Any = inspect.unwrap(fun) if hasattr(fun, "__wrapped__") else fun
        while hasattr(inner, "func") and not hasattr(inner, "__code__"):
            inner = inner.func  # functools.partial
        self._code = getattr(inner, "__code__", None)
        self._is_method = isinstance(fun, MethodType)

    def parameters(self) -> list[str]:
        """Return the names of positional parameters; the function may be gone."""
        code = self._code
        return list(code.co_varnames[self._is_method : code.co_argcount]) if code else []

    def __str__(self) -> str:
        code = self._code
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""

    def __bool__(self) -> bool:
        return self._code is not None


def _gone() -> None:
    return None


class CallInfo(DebugInfo):
    """Debug info of a call, whose argument names come from the structure of its arguments.

    Args:
      traced_for: name of the transformation.
      fun: the function.
      in_tree: structure of ``(args, kwargs)``.
      positions: position in the signature of each entry of ``args``; None means in order.
    """

    __slots__ = ("in_tree", "positions")

    positions: Sequence[int] | None

    def __init__(
        self,
        traced_for: str,
        fun: Callable[..., Any],
        in_tree: Any,
        positions: Sequence[int] | None = None,
    ) -> None:
        super().__init__(traced_for, fun)
        self.in_tree = in_tree
        self.positions = positions

    @property
    def arg_names(self) -> tuple[str, ...]:
        """One name per flat argument: the parameter's name and the path inside it."""
        marked = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        paths = [path for path, _ in registry.flatten_with_path(marked)[0]]
        names = _parameter_names(self.fun, self.location)
        texts: list[str] = []
        for path in paths:
            which: Any = path[0]
            where: Any = path[1]
            if which.idx == 1:
                first = str(where.key)
            else:
                at = where.idx if self.positions is None else self.positions[where.idx]
                first = names[at] if at < len(names) else f"args[{at}]"
            texts.append(first + "".join(map(str, path[2:])))
        return tuple(texts)


def _parameter_names(fun: Callable[..., Any] | None, location: "_Location") -> list[str]:
    if fun is None:
        return location.parameters()
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(64)]
    return names


def name_of(fun: Callable[..., Any]) -> str:
    """Return the name a function is printed with."""
    name = getattr(fun, "__name__", None)
    if name is not None:
        return name
    inner = getattr(fun, "func", None)
    return name_of(inner) if inner is not None else type(fun).__name__


_OURS: Final = re.compile(
    r"^<frozen|[/\\]tans_(core|xla|lax|batching|autodiff|precision|compiler|sharding|refs|hijax|fault"
    r"|numpy|random|nn|scipy|jax)[/\\]"
)


def is_user_file(filename: str) -> bool:
    """Whether a frame of this file is the user's and not one of the packages."""
    return _OURS.search(filename) is None


def user_line(traceback: Any) -> str:
    """Return ``file:line`` of the innermost user frame of a jaxlib traceback."""
    if traceback is None:
        return ""
    for frame in traceback.frames:
        if is_user_file(frame.file_name):
            return f"{frame.file_name}:{frame.line_num}"
    return ""


def debug_info_of(
    traced_for: str, fun: Callable[..., Any], arg_names: Sequence[str] = ()
) -> DebugInfo:
    """Return the debug info of a function whose flat arguments have the given names."""
    return DebugInfo(traced_for, fun, arg_names)
