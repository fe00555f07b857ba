"""A lock per MLIR context: one thread at a time builds in it, or compiles or reads a module.

The compiler loads dialects into the context of the module that it compiles, outside the GIL and
without a lock of its own.
"""

import threading
import weakref
from typing import Any, Final

_locks: Final[weakref.WeakKeyDictionary[Any, Any]] = weakref.WeakKeyDictionary()


def lock_of(context: Any) -> Any:
    """Return the lock of an `ir.Context`, which a thread may take again while it holds it."""
    return _locks.setdefault(context, threading.RLock())
