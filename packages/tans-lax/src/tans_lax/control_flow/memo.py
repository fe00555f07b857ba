"""Memo of programs derived from bodies, held as long as the body lives."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Final
from weakref import WeakKeyDictionary

from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.jaxpr import ClosedJaxpr

_lock: Final = threading.Lock()


def _weak(x: Any) -> Hashable:
    """Replace bodies in a key by weak references, which compare as their referents."""
    if isinstance(x, ClosedJaxpr):
        return weakref.ref(x)
    if type(x) is tuple:
        return tuple(map(_weak, x))
    return x


class BodyMemo[R]:
    """Maps (body, key) to what was derived from the body.

    The result must not refer to the body itself, or neither would ever be freed.
    """

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table: WeakKeyDictionary[ClosedJaxpr, dict[Any, R]] = WeakKeyDictionary()
        register_cache("control flow", self.clear)

    def get(self, body: ClosedJaxpr, key: tuple[Any, ...], make: Callable[[], R]) -> R:
        """Return the entry for `key` (hashable, may hold bodies), made at the first request."""
        full_key = (_weak(key), trace_context())
        with _lock:
            entries = self._table.setdefault(body, {})
            if full_key in entries:
                return entries[full_key]
        made = make()  # outside the lock: it may trace
        with _lock:
            return entries.setdefault(full_key, made)

    def clear(self) -> None:
        """Forget everything."""
        with _lock:
            self._table.clear()
