"""Sharding rules of cond: its results have the types of the branches."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.control_flow.cond import active_lanes_p
from tans_lax.propagation import Rule, Spec


def _active_lanes(ctx: ShardingContext, active: Any, x: Any) -> Spec:
    del ctx, active
    return spec_of(x)


SHARDING: Final[dict[Primitive, Rule]] = {
    active_lanes_p: _active_lanes,
}
