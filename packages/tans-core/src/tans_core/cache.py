"""Caches that can be emptied together, and a cache that holds its first argument weakly.

All caches of Tans are registered here: `clear_caches` empties them, and `drop_backend` empties
those that refer to a client or its devices, which must not survive when a backend is made anew.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, overload

from tans_core._jaxlib import trace_context, weakref_lru_cache

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


def _no_context() -> None:
    return None


def weakref_cache(
    maxsize: int = 2048, *, context: bool = True, holds_backend: bool = False
) -> Callable[[Callable[..., Any]], Any]:
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

    def decorate(fun: Callable[..., Any]) -> Any:
        cached = weakref_lru_cache(trace_context if context else _no_context, fun, maxsize)
        register_cache(cached.cache_clear, holds_backend=holds_backend)
        return cached

    return decorate
