"""Sharding rules of cumulative reductions: the scanned dimension is not sharded."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from tans_lax.propagation import Rule, Spec, refuse_unreduced, require_unsharded


def _cumulative(ctx: ShardingContext, x: Any, *, axis: int, reverse: bool) -> Spec:
    del reverse
    refuse_unreduced(ctx, x)
    require_unsharded(ctx, x, [axis], "Reshard the operand to leave that dimension whole.")
    return spec_of(x)


SHARDING: Final[dict[Primitive, Rule]] = {
    cumsum_p: _cumulative,
    cumprod_p: _cumulative,
    cummax_p: _cumulative,
    cummin_p: _cumulative,
    cumlogsumexp_p: _cumulative,
}
