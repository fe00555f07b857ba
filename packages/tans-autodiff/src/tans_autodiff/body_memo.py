"""Memos of what a transformation makes of a jaxpr: weak in the jaxpr, safe with threads."""

import functools
import threading
from collections.abc import Callable
from typing import Any, Concatenate
from weakref import WeakKeyDictionary

from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.jaxpr import ClosedJaxpr

type Transform[**P, R] = Callable[Concatenate[ClosedJaxpr, P], R]


def memoised_on_body[**P, R](transform: Transform[P, R]) -> Transform[P, R]:
    """Decorate a transformation of jaxprs so that it runs once per (body, arguments, context).

    The transformation runs outside the lock: two threads may both compute a result, the first one
    to finish is kept. Nothing is kept when the transformation raises.
    """
    memo: WeakKeyDictionary[ClosedJaxpr, dict[Any, R]] = WeakKeyDictionary()
    lock = threading.Lock()
    register_cache(transform.__name__, memo.clear)

    @functools.wraps(transform)
    def memoised(body: ClosedJaxpr, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(kwargs.items()), trace_context())
        with lock:
            found = memo.setdefault(body, {}).get(key)
        if found is None:
            result = transform(body, *args, **kwargs)
            with lock:
                found = memo.setdefault(body, {}).setdefault(key, result)
        return found

    return memoised
