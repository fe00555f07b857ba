"""Sharding rule of device_put: the sharding asked for, in explicit mode."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_xla.spec_changes import check_states
from tans_xla.transfer import device_put_p
from tans_xla.transfer.types import TYPES


def _device_put(ctx: ShardingContext, *avals: ShapedArray, **params: Any) -> list[Any]:
    outs = TYPES[device_put_p](*avals, **params)
    for before, after in zip(avals, outs, strict=True):
        own, target = spec_of(before), spec_of(after)
        if before.is_sharded and own.unreduced | target.unreduced:
            check_states(ctx, own, target)
    return [aval.sharding.spec if aval.is_sharded else None for aval in outs]


SHARDING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
