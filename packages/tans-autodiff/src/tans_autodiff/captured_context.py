"""The trace context at a call, for rules that run later: precision, mesh, axis names and so on."""

from collections.abc import Callable
from typing import Any

from tans_core.config import abstract_mesh, all_flags, axis_env, trace_context


class CapturedContext:
    """Remembers what traced programs depend on; calls functions under it on any thread."""

    __slots__ = ("_key", "_values")

    def __init__(self) -> None:
        self._key = trace_context()
        flags = [flag for flag in all_flags().values() if flag.in_trace_context]
        self._values = [(flag, flag.value) for flag in (*flags, abstract_mesh, axis_env)]

    def call(self, fun: Callable[..., Any], *args: Any) -> Any:
        """Call a function under the remembered context."""
        if trace_context() == self._key:
            return fun(*args)
        changed = [(flag, value) for flag, value in self._values if flag.value != value]
        old = [flag.swap_local(value) for flag, value in changed]
        try:
            return fun(*args)
        finally:
            for (flag, _), value in zip(changed, old, strict=True):
                flag.set_local(value)
