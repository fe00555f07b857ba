"""Sharding rules of sorting: the sorted dimension is not sharded."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, refuse_unreduced, require_equal, require_unsharded
from tans_lax.sorting import sort_p, top_k_p

_REMEDY: Final = "Reshard the operand to leave that dimension whole."


def _sort(ctx: ShardingContext, *avals: Any, dimension: int, **_: Any) -> list[Spec]:
    refuse_unreduced(ctx, *avals)
    common = require_equal(ctx, avals)
    require_unsharded(ctx, avals[0], [dimension], _REMEDY)
    return [common] * len(avals)


def _top_k(ctx: ShardingContext, x: Any, *, axis: int, **_: Any) -> list[Spec]:
    refuse_unreduced(ctx, x)
    require_unsharded(ctx, x, [axis], _REMEDY)
    return [spec_of(x)] * 2


SHARDING: Final[dict[Primitive, Rule]] = {
    sort_p: _sort,
    top_k_p: _top_k,
}
