"""What a trace knows of the function it records: its name, place and argument names."""

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class DebugInfo(NamedTuple):
    """Names for messages.

    Attributes:
      traced_for: name of the transformation, such as ``jit``.
      name: the function's name.
      location: its file and line, or an empty string.
      arg_names: one name per flat argument, such as ``x['w']``; may be shorter.
    """

    traced_for: str
    name: str
    location: str
    arg_names: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The function with its place, as messages show it."""
        at = f" at {self.location}" if self.location else ""
        return f"{self.name}{at}, traced for {self.traced_for}"

    @staticmethod
    def describe(
        info: "DebugInfo | None", invars: Sequence[Any], eqns: Sequence[Any], tracer: Any
    ) -> str:
        """Say where a recorded value came from: an argument, or the line of its equation."""
        where = f" in {info.place}" if info is not None else ""
        var = tracer.var
        for i, invar in enumerate(invars):
            if invar is var:
                names = info.arg_names if info is not None else ()
                return f", argument {names[i] if i < len(names) else i}{where}"
        for eqn in eqns:
            if any(v is var for v in eqn.outvars):
                line = user_line(eqn.traceback)
                return f", computed by {eqn.primitive}{' at ' + line if line else ''}{where}"
        return where


def debug_info_of(traced_for: str, fun: Callable[..., Any], arg_names: Sequence[str] = ()) -> Any:
    """Collect the debug info of a Python function."""
    inner = inspect.unwrap(fun) if hasattr(fun, "__wrapped__") else fun
    while hasattr(inner, "func") and not hasattr(inner, "__code__"):
        inner = inner.func  # functools.partial
    code = getattr(inner, "__code__", None)
    location = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return DebugInfo(traced_for, name_of(fun), location, tuple(arg_names))


def name_of(fun: Callable[..., Any]) -> str:
    """Return the name a function is printed with."""
    name = getattr(fun, "__name__", None)
    if name is not None:
        return name
    inner = getattr(fun, "func", None)
    return name_of(inner) if inner is not None else type(fun).__name__


_OURS = os.sep + "tans_"


def is_user_file(filename: str) -> bool:
    """Whether a frame of this file is the user's and not one of the packages."""
    if filename.startswith("<frozen"):
        return False
    before, found, rest = filename.rpartition(_OURS)
    return not found or os.sep + "tests" + os.sep in filename or not before


def user_line(traceback: Any) -> str:
    """Return ``file:line`` of the innermost user frame of a jaxlib traceback."""
    if traceback is None:
        return ""
    for frame in traceback.frames:
        if is_user_file(frame.file_name):
            return f"{frame.file_name}:{frame.line_num}"
    return ""
