"""Tokens between programs: what orders effects across calls, and what a barrier waits for.

An ordered effect threads one empty array per thread through the programs that have it, so that a
program starts after its predecessor. Unordered effects leave a token to wait on.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import ShapedArray
from tans_core.cache import register_cache
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import named_sharding, single_device_sharding
from tans_xla._jaxlib import batched_device_put

DUMMY: Final = ShapedArray((0,), np.dtype(bool))


class _Tokens(threading.local):
    def __init__(self) -> None:
        self.ordered: dict[Any, Any] = {}
        self.pending: dict[Any, Any] = {}


_tokens: Final = _Tokens()


def sharding_over(devices: Sequence[Any]) -> Any:
    """Return the sharding of the token array of a program over `devices`."""
    if len(devices) == 1:
        return single_device_sharding(devices[0])
    return named_sharding(Mesh(list(devices), "devices"), PartitionSpec())


def take(effect: Any, devices: Sequence[Any]) -> Any:
    """Return the array that the next program with `effect` over `devices` must consume."""
    sharding = sharding_over(devices)
    found = _tokens.ordered.get(effect)
    # Of a program that is over there is no order left to keep, and if it failed, its token would
    # fail this one too.
    if found is not None and not found.is_ready():
        if found._sharding == sharding:
            return found
        # The predecessor runs elsewhere: only waiting orders the two.
        found.block_until_ready()
    here = list(sharding._internal_device_list.addressable_device_list)
    empty = [np.zeros((0,), bool)] * len(here)
    return batched_device_put(DUMMY, sharding, empty, here, enable_x64=False)


def put(effect: Any, token: Any) -> None:
    """Store what the program that was just started returned for `effect`."""
    _tokens.ordered[effect] = token


def add_pending(device: Any, token: Any) -> None:
    """Remember a started program with unordered effects; the newest one per device is enough."""
    _tokens.pending[device] = token


def wait_pending(device: Any) -> None:
    """Wait for the programs with unordered effects that this thread started on `device`."""
    token = _tokens.pending.pop(device, None)
    if token is not None:
        token.block_until_ready()


def block_until_ready() -> None:
    """Wait until the effects of all programs started by this thread have happened."""
    ordered, _tokens.ordered = _tokens.ordered, {}
    pending, _tokens.pending = _tokens.pending, {}
    for token in (*ordered.values(), *pending.values()):
        token.block_until_ready()


def clear() -> None:
    """Forget this thread's tokens (when the backend is dropped)."""
    _tokens.ordered.clear()
    _tokens.pending.clear()


register_cache(clear, holds_backend=True)
