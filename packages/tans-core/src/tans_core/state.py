"""The thread's state: the current trace, and what equations remember of where they come from.

One thread-local object holds it. The trace is mirrored in the C++ flag `trace_marker`, which is
part of the C++ jit key: compiled functions are hit only while evaluating.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tans_core.config import trace_marker, xla_metadata

if TYPE_CHECKING:
    from tans_core.trace import Trace

_TRACING: Final = "tracing"


class ThreadState(threading.local):
    """What one thread knows; a fresh thread evaluates."""

    trace: "Trace"  # the class attribute, set by tans_core.trace, is the evaluation trace
    evaluation: "Trace"
    source: Any = None  # traceback that replayed equations take over, or None
    name_stack: str = ""


state: Final = ThreadState()


def swap_trace(trace: "Trace") -> "Trace":
    """Make `trace` current and return the former one; for callers that restore in a finally."""
    old = state.trace
    state.trace = trace
    evaluation = state.evaluation
    if (trace is evaluation) is not (old is evaluation):
        trace_marker.set_local(None if trace is evaluation else _TRACING)
    return old


def swap_metadata(around: Any, own: Any) -> None:
    """Make the attributes of an equation current, added to those of its surroundings."""
    if own is not None and around is not None:
        own = tuple(sorted({**dict(around), **dict(own)}.items()))
    xla_metadata.set_local(around if own is None else own)


class set_current_trace:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: make a trace current, restore the former one on exit."""

    __slots__ = ("_new", "_old")

    def __init__(self, trace: "Trace") -> None:
        self._new = trace

    def __enter__(self) -> "Trace":
        self._old = swap_trace(self._new)
        return self._new

    def __exit__(self, *exc: object) -> None:
        swap_trace(self._old)


def scoped(names: str, name: str) -> str:
    """Return the name stack `names` with a scope added.

    A transformation stands in it as "vmap()"; the first scope inside goes into the parentheses.
    """
    if names.endswith(")") and "()" in names.rpartition("/")[2]:
        first, slash, rest = name.partition("/")
        at = names.rindex("()") + 1
        return names[:at] + first + names[at:] + slash + rest
    return f"{names}/{name}" if names else name


class transformed_names:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: mark the names of operations traced inside with a transformation's name."""

    __slots__ = ("_by", "_old")

    def __init__(self, by: str) -> None:
        self._by = by

    def __enter__(self) -> None:
        self._old = state.name_stack
        state.name_stack = scoped(self._old, f"{self._by}()")

    def __exit__(self, *exc: object) -> None:
        state.name_stack = self._old


@contextmanager
def named_scope(name: str) -> Generator[None]:
    """Context manager: put `name` in front of the names of the operations traced inside."""
    if not isinstance(name, str):
        raise TypeError(
            f"named_scope: given {name!r} of type {type(name).__name__}, expected a string. "
            "Pass str(name)."
        )
    old = state.name_stack
    state.name_stack = scoped(old, name)
    try:
        yield
    finally:
        state.name_stack = old
