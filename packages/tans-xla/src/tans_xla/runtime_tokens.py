"""Tokens between programs: what orders effects across calls, and what a barrier waits for.

An ordered effect threads one empty array per (effect, device list) through the programs that have
it, so that a program starts after its predecessor. Unordered effects leave a token to wait on.
"""

import threading
from typing import Any, Final

import numpy as np

from tans_core import ShapedArray
from tans_core.sharding import single_device_sharding
from tans_xla._jaxlib import batched_device_put

DUMMY: Final = ShapedArray((0,), np.dtype(bool))


class _Tokens(threading.local):
    def __init__(self) -> None:
        self.ordered: dict[Any, Any] = {}
        self.pending: dict[Any, Any] = {}


_tokens: Final = _Tokens()


def take(effect: Any, device: Any) -> Any:
    """Return the array that the next program with `effect` on `device` must consume."""
    found = _tokens.ordered.get((effect, device))
    if found is None:
        empty = np.zeros((0,), bool)
        sharding = single_device_sharding(device)
        found = batched_device_put(DUMMY, sharding, [empty], [device], enable_x64=False)
    return found


def put(effect: Any, device: Any, token: Any) -> None:
    """Store what the program that was just started returned for `effect`."""
    _tokens.ordered[effect, device] = token


def add_pending(device: Any, token: Any) -> None:
    """Remember a started program with unordered effects; the newest one per device is enough."""
    _tokens.pending[device] = token


def block_until_ready() -> None:
    """Wait until the effects of all programs started by this thread have happened."""
    ordered, _tokens.ordered = _tokens.ordered, {}
    pending, _tokens.pending = _tokens.pending, {}
    for token in (*ordered.values(), *pending.values()):
        token.block_until_ready()


def clear() -> None:
    """Forget all tokens (when the backend is dropped)."""
    _tokens.ordered.clear()
    _tokens.pending.clear()
