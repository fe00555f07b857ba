"""The C++ object that runs known calls without Python, and its cache."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.cache import register_cache
from tans_core.tree_registry import dispatch_registry
from tans_xla._jaxlib import ArrayImpl, PjitFunctionCache, pjit
from tans_xla.executable import shard_argument

_cache: Final = PjitFunctionCache(capacity=8192)
register_cache(_cache.clear, holds_backend=True)


def put_argument(x: Any, sharding: Any, layout: Any) -> ArrayImpl:
    """Transfer one argument that C++ can't transfer itself."""
    del layout
    return shard_argument(x, sharding)


def forget_known_calls() -> None:
    """Make C++ forget all calls: the next one of each function comes through Python."""
    _cache.clear()


def make_dispatch(
    name: str,
    miss: Callable[..., Any],
    key: Any,
    fun: Callable[..., Any] | None = None,
    static_argnums: tuple[int, ...] = (),
    static_argnames: tuple[str, ...] = (),
) -> Any:
    """Return the C++ object.

    Args:
      name: printed name.
      miss: runs a call that is not known; returns (result, fast path or None, False).
      key: hashable; objects with equal keys and the same `fun` share entries.
      fun: the function, held weakly; called directly while jit is disabled.
      static_argnums, static_argnames: arguments that are part of the key.
    """
    return pjit(
        name,
        fun,
        miss,
        static_argnums,
        static_argnames,
        key,
        dispatch_registry,
        put_argument,
        _cache,
    )
