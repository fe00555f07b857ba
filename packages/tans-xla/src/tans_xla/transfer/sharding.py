"""Sharding rule of device_put: the sharding asked for, in explicit mode."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_xla.transfer import device_put_p
from tans_xla.transfer.types import TYPES


def _device_put(ctx: ShardingContext, *avals: ShapedArray, **params: Any) -> list[Any]:
    del ctx
    outs = TYPES[device_put_p](*avals, **params)
    return [aval.sharding.spec if aval.is_sharded else None for aval in outs]


SHARDING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
