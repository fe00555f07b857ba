"""Sharding rules of reductions: the entries of reduced dimensions are dropped."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.primitive import Primitive
from tans_lax.propagation import (
    Rule,
    Spec,
    entries_of,
    refuse_unreduced,
    requested_spec,
    states_like,
)
from tans_lax.reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)


def _kept(x: Any, axes: tuple[int, ...]) -> PartitionSpec:
    return states_like(x, [e for d, e in enumerate(entries_of(x)) if d not in axes])


def _plain(ctx: ShardingContext, x: Any, *, axes: tuple[int, ...], **_: Any) -> Spec:
    refuse_unreduced(ctx, x)
    return _kept(x, axes)


def _named(kind: str) -> Rule:
    """Make the rule of a fold whose unreduced results combine by the same fold."""

    def rule(ctx: ShardingContext, x: Any, *, axes: tuple[int, ...], out_sharding: Any) -> Spec:
        own = spec_of(x)
        if own.unreduced and own.unreduced_kind.name != kind:
            ctx.refuse(
                f"{ctx.primitive.name} does not act part by part on this unreduced operand; "
                f"expected one whose parts combine by {kind}. Reshard it first: reshard(x, P()).",
                ValueError,
            )
        if out_sharding is None:
            return _kept(x, axes)
        return _requested(ctx, x, axes, out_sharding, kind)

    return rule


def _requested(
    ctx: ShardingContext, x: Any, axes: tuple[int, ...], out_sharding: Any, kind: str
) -> PartitionSpec:
    spec = requested_spec(ctx, out_sharding, ctx.out.ndim)
    own = spec_of(x)
    if spec.reduced - own.reduced:
        ctx.refuse(
            f"and out_sharding {spec!r}; a reduction can't make its result reduced. Reshard the "
            "result to P(reduced=...).",
            ValueError,
        )
    if spec.unreduced and spec.unreduced_kind.name != kind:
        ctx.refuse(
            f"and out_sharding {spec!r}; expected parts that combine by {kind}, as "
            f"{ctx.primitive.name} does. Give unreduced_kind=UnreducedKind.{kind}."
        )
    summed = {a for d in axes for a in partition_axes(own.partitions[d])}
    if not spec.unreduced <= summed | own.unreduced:
        ctx.refuse(
            f"and out_sharding {spec!r}; expected unreduced axes along which a reduced dimension "
            "is sharded or the operand is unreduced. Leave out the others."
        )
    return spec


def _reduce(
    ctx: ShardingContext, *avals: Any, dimensions: tuple[int, ...], jaxpr: Any
) -> list[Spec]:
    del jaxpr
    refuse_unreduced(ctx, *avals)
    return [_kept(x, dimensions) for x in avals[: len(avals) // 2]]


SHARDING: Final[dict[Primitive, Rule]] = {
    reduce_sum_p: _named("sum"),
    reduce_prod_p: _plain,
    reduce_max_p: _named("max"),
    reduce_min_p: _named("min"),
    reduce_and_p: _plain,
    reduce_or_p: _plain,
    reduce_xor_p: _plain,
    argmax_p: _plain,
    argmin_p: _plain,
    reduce_p: _reduce,
}
