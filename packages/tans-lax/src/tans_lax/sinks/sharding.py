"""Sharding rule of `dce_sink`, which has no results."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec
from tans_lax.sinks import dce_sink_p


def _sink(ctx: ShardingContext, x: Any, **params: Any) -> list[Spec]:
    del ctx, x, params
    return []


SHARDING: Final[dict[Primitive, Rule]] = {
    dce_sink_p: _sink,
}
