"""Batching: `vmap`, batching rules of the user's own, and `map` in batches."""

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-batching", built_for=_INTERFACE_BUILT_FOR)

from tans_batching.custom import custom_vmap, custom_vmap_call_p, sequential_vmap
from tans_batching.map import map
from tans_batching.trace import BatchTrace, BatchTracer, batch_flat, batch_jaxpr
from tans_batching.vmap import vmap

__all__ = [
    "BatchTrace",
    "BatchTracer",
    "batch_flat",
    "batch_jaxpr",
    "custom_vmap",
    "custom_vmap_call_p",
    "map",
    "sequential_vmap",
    "vmap",
]
