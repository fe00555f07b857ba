"""Batching: `vmap`, batching rules of the user's own, and `map` in batches."""

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-batching", built_for=_INTERFACE_BUILT_FOR)

from tans_batching.custom import custom_vmap, custom_vmap_call_p, sequential_vmap  # noqa: E402
from tans_batching.map import map  # noqa: E402
from tans_batching.trace import BatchTrace, BatchTracer, batch_flat, batch_jaxpr  # noqa: E402
from tans_batching.vmap import vmap  # noqa: E402

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
