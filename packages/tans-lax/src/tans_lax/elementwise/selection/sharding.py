"""Sharding rules of choices between values."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.elementwise.selection import clamp_p, select_n_p
from tans_lax.propagation import Rule, Spec, refuse_unreduced, require_equal


def _select_n(ctx: ShardingContext, which: Any, *cases: Any) -> Spec:
    common = require_equal(ctx, cases)
    refuse_unreduced(ctx, which)
    if which.ndim and spec_of(which).partitions != common.partitions:
        ctx.refuse(
            "`which` is sharded differently from the cases; expected rank 0 or their sharding. "
            "Reshard it."
        )
    return common


def _clamp(ctx: ShardingContext, low: Any, x: Any, high: Any) -> Spec:
    refuse_unreduced(ctx, low, x, high)
    return spec_of(x)


SHARDING: Final[dict[Primitive, Rule]] = {
    select_n_p: _select_n,
    clamp_p: _clamp,
}
