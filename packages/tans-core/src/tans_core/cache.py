"""Caches that can be emptied together, and the two ways to make one.

All caches of Tans are registered here: `clear_caches` empties them, and `drop_backend` empties
those that refer to a client or its devices, which must not survive when a backend is made anew.
Functions are called outside the lock and the first result stored wins, so that a cached function
may trace, compile or call itself without blocking other threads.
"""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Final, overload

from tans_core._jaxlib import trace_context, weakref_lru_cache

type Key = Hashable
type Clear = Callable[[], None]

_lock: Final = threading.Lock()
_clearers: Final[list[Clear]] = []
_backend_clearers: Final[list[Clear]] = []


@overload
def register_cache(clear: Clear, /, *, holds_backend: bool = False) -> None: ...
@overload
def register_cache(name: str, clear: Clear, /, *, holds_backend: bool = False) -> None: ...
def register_cache(*named: Any, holds_backend: bool = False) -> None:
    """Add a cache of any kind to those that are emptied together.

    Args:
      *named: optionally what the cache is called, then a function that empties it.
      holds_backend: whether entries refer to a client, its devices or its buffers.
    """
    clear = named[-1]
    with _lock:
        _clearers.append(clear)
        if holds_backend:
            _backend_clearers.append(clear)


def clear_caches() -> None:
    """Empty every cache: traced programs, compiled programs and memos are made anew."""
    with _lock:
        clearers = list(_clearers)
    for clear in clearers:
        clear()


def drop_backend() -> None:
    """Empty the caches that refer to a client; types and traced programs survive."""
    with _lock:
        clearers = list(_backend_clearers)
    for clear in clearers:
        clear()


class Lru[R]:
    """A least-recently-used cache of a function; see `lru`."""

    __slots__ = ("__name__", "__weakref__", "_context", "_entries", "_fun", "_lock", "_maxsize")

    def __init__(self, fun: Callable[..., R], maxsize: int, context: bool) -> None:
        self.__name__ = fun.__name__
        self._fun = fun
        self._maxsize = maxsize
        self._context = context
        self._entries: dict[Key, R] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> R:
        """Return the remembered result, or call the function."""
        key = (args, trace_context()) if self._context else args
        entries = self._entries
        try:
            found = entries[key]
        except KeyError:
            return self._store(key, self._fun(*args))
        if len(entries) > self._maxsize // 2:
            # Order matters only when eviction is near; a short cache pays nothing for it.
            with self._lock:
                if entries.pop(key, None) is not None:
                    entries[key] = found
        return found

    def _store(self, key: Key, value: R) -> R:
        with self._lock:
            kept = self._entries.setdefault(key, value)
            while len(self._entries) > self._maxsize:
                self._entries.pop(next(iter(self._entries)))
        return kept

    def __len__(self) -> int:
        return len(self._entries)

    def cache_clear(self) -> None:
        """Forget all entries."""
        with self._lock:
            self._entries.clear()


def lru[R](
    maxsize: int = 4096, *, context: bool = False, holds_backend: bool = False
) -> Callable[[Callable[..., R]], Lru[R]]:
    """Decorator: remember the results of a function of positional, hashable arguments.

    Args:
      maxsize: number of entries kept.
      context: whether the trace context is part of the key.
      holds_backend: whether results refer to a client.

    Example:
      >>> @lru()
      ... def square(x):
      ...     return x * x
      >>> square(3), len(square)
      (9, 1)
    """

    def decorate(fun: Callable[..., R]) -> Lru[R]:
        cached = Lru(fun, maxsize, context)
        register_cache(cached.cache_clear, holds_backend=holds_backend)
        return cached

    return decorate


def _no_context() -> None:
    return None


def weakref_cache[R](
    maxsize: int = 2048, *, context: bool = True, holds_backend: bool = False
) -> Callable[[Callable[..., R]], Any]:
    """Decorator: remember results for as long as the first argument lives.

    Args:
      maxsize: number of entries kept.
      context: whether the trace context is part of the key.
      holds_backend: whether results refer to a client.

    Returns:
      A decorator; the cached function has `cache_clear`, `cache_info` and `evict_weakref(obj)`.

    The first argument is compared by ``==`` and held weakly; the others are hashable. A result
    must not refer to the first argument, or neither is ever freed.
    """

    def decorate(fun: Callable[..., R]) -> Any:
        cached = weakref_lru_cache(trace_context if context else _no_context, fun, maxsize)
        register_cache(cached.cache_clear, holds_backend=holds_backend)
        return cached

    return decorate


class WeakIdentityMap[V]:
    """Maps objects by identity to values, for as long as the objects live."""

    __slots__ = ("__weakref__", "_entries", "_lock")

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}
        self._lock = threading.Lock()
        register_cache(self.clear)

    def get(self, key: Any) -> V | None:
        """Return the value of an object, or None."""
        found = self._entries.get(id(key))
        return None if found is None else found[1]

    def setdefault(self, key: Any, value: V) -> V:
        """Store a value unless there is one, and return the one that is stored."""
        index = id(key)

        def forget(_: Any) -> None:
            self._entries.pop(index, None)

        with self._lock:
            found = self._entries.get(index)
            if found is not None and found[0]() is key:
                return found[1]
            self._entries[index] = (weakref.ref(key, forget), value)
            return value

    def clear(self) -> None:
        """Forget all entries."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
