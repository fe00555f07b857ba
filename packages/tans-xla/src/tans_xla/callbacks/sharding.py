"""Sharding rule of callbacks: operands are gathered for the call, results are replicated."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_xla.callbacks import debug_callback_p, io_callback_p, pure_callback_p


def _replicated(ctx: ShardingContext, *avals: ShapedArray, **_: Any) -> list[None]:
    return [None] * len(ctx.out_avals)


SHARDING: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _replicated,
    io_callback_p: _replicated,
    debug_callback_p: _replicated,
}
