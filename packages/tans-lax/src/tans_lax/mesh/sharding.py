"""Sharding rules of `reshard` and of constraints."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_p, sharding_constraint_p
from tans_lax.propagation import Rule, Spec, linear_unary, requested_spec
from tans_xla.spec_changes import check_states


def _reshard(ctx: ShardingContext, x: Any, *, dst_sharding: NamedSharding) -> Spec:
    target = requested_spec(ctx, dst_sharding, x.ndim)
    check_states(ctx, spec_of(x), target)
    return target


SHARDING: Final[dict[Primitive, Rule]] = {
    reshard_p: _reshard,
    sharding_constraint_p: linear_unary,
}
