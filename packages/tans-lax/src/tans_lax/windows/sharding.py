"""Sharding rules of windowed reductions: a dimension keeps axes that divide its new size."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, refuse_unreduced, resized
from tans_lax.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)


def _window(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    del params
    refuse_unreduced(ctx, x)
    return resized(ctx, x, ctx.out)


def _windows(ctx: ShardingContext, *avals: Any, **params: Any) -> list[Spec]:
    del params
    refuse_unreduced(ctx, *avals)
    return [resized(ctx, x, out) for x, out in zip(avals, ctx.out_avals, strict=False)]


def _of_operand(position: int) -> Rule:
    def rule(ctx: ShardingContext, *avals: Any, **params: Any) -> Spec:
        del params
        refuse_unreduced(ctx, *avals)
        return spec_of(avals[position])

    return rule


def _gather(ctx: ShardingContext, tangents: Any, operand: Any, **params: Any) -> Spec:
    del params
    refuse_unreduced(ctx, tangents, operand)
    return resized(ctx, operand, ctx.out)


SHARDING: Final[dict[Primitive, Rule]] = {
    reduce_window_p: _windows,
    reduce_window_sum_p: _window,
    reduce_window_max_p: _window,
    reduce_window_min_p: _window,
    select_and_scatter_p: _of_operand(0),
    select_and_scatter_add_p: _of_operand(1),
    select_and_gather_add_p: _gather,
}
