"""Moves that are computations: to addends, one per device, and from them."""

import functools
from typing import Any

from tans_core.cache import register_cache
from tans_core.sharding import NamedSharding
from tans_xla._jaxlib import ArrayCopySemantics, ArrayImpl


def is_computed(old: Any, new: Any) -> bool:
    """Whether a move within one mesh makes or sums addends."""
    if not (isinstance(old, NamedSharding) and isinstance(new, NamedSharding)):
        return False
    return old.mesh == new.mesh and old.spec.unreduced != new.spec.unreduced


def moved(array: ArrayImpl, new: NamedSharding) -> ArrayImpl:
    """Return an array in a sharding of its mesh, moved by a compiled program."""
    return _program(new)(array)


@functools.lru_cache(maxsize=256)
def _program(sharding: NamedSharding) -> Any:
    from tans_xla.jit import jit  # compiled programs are built on transfers
    from tans_xla.transfer import device_put_p

    params: dict[str, Any] = {
        "devices": (sharding,),
        "srcs": (None,),
        "copy_semantics": (ArrayCopySemantics.REUSE_INPUT,),
    }
    return jit(lambda x: device_put_p.bind(x, **params)[0])


register_cache(_program.cache_clear, holds_backend=True)
