"""Sharding rule of `dot_general`."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec, UnreducedKind, partition_axes
from tans_core.primitive import Primitive
from tans_lax.contractions import dot_general_p
from tans_lax.contractions.types import Axes, DimensionNumbers, free_axes
from tans_lax.propagation import Rule, Spec, entries_of, requested_spec


def _dot_general(
    ctx: ShardingContext,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DimensionNumbers,
    out_sharding: Any,
    **_: Any,
) -> Spec:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    if spec_of(lhs).unreduced or spec_of(rhs).unreduced:
        ctx.refuse(
            "the operands of a product cannot be unreduced; expected whole values. Reshard the "
            "operand first: reshard(x, P())."
        )
    left, right = entries_of(lhs), entries_of(rhs)
    contracted = [
        (left[i], right[j]) for i, j in zip(lhs_contracting, rhs_contracting, strict=True)
    ]
    if out_sharding is not None:
        return _requested(ctx, out_sharding, contracted)
    batch = _batch(ctx, left, right, lhs_batch, rhs_batch)
    if any(a is not None and b is not None for a, b in contracted):
        ctx.refuse(
            "both contracting dimensions are sharded, so the sharding of the result is ambiguous; "
            "expected at most one, or out_sharding. Give out_sharding=P() for an all-reduce, or "
            "out_sharding=P(unreduced=...) to keep the addends."
        )
    free_left = [left[d] for d in free_axes(lhs.ndim, lhs_contracting, lhs_batch)]
    free_right = [right[d] for d in free_axes(rhs.ndim, rhs_contracting, rhs_batch)]
    return PartitionSpec(*batch, *free_left, *free_right)


def _batch(
    ctx: ShardingContext, left: list[Any], right: list[Any], lhs_batch: Axes, rhs_batch: Axes
) -> list[Any]:
    pairs = [(left[i], right[j]) for i, j in zip(lhs_batch, rhs_batch, strict=True)]
    if any(a != b for a, b in pairs):
        ctx.refuse(
            f"expected batch dimensions with the same sharding, found {pairs}. Reshard one of "
            "them, or give out_sharding."
        )
    return [a for a, _ in pairs]


def _requested(
    ctx: ShardingContext, out_sharding: Any, contracted: list[tuple[Any, Any]]
) -> PartitionSpec:
    spec = requested_spec(ctx, out_sharding, ctx.out.ndim)
    # A product is no place to declare its result reduced; the type is as if it were not asked for.
    spec = spec.update(reduced=frozenset())
    if not spec.unreduced:
        return spec
    if spec.unreduced_kind is not UnreducedKind.sum:
        ctx.refuse(
            f"and out_sharding {spec!r}; expected unreduced_kind sum, since a product sums. Leave "
            "unreduced_kind out.",
            ValueError,
        )
    if any(a != b for a, b in contracted):
        ctx.refuse(
            f"and out_sharding {spec!r}; expected contracting dimensions that are sharded "
            f"identically, but the contracting specs are {contracted}. Reshard an operand."
        )
    axes = {axis for a, _ in contracted for axis in partition_axes(a)}
    if axes != spec.unreduced:
        ctx.refuse(
            f"and out_sharding {spec!r}; expected it to be unreduced along exactly the axes of "
            f"the contracting specs, {sorted(axes)}. In a backward pass this means that a weight "
            "is reduced along axes over which the forward contraction's other operand is not "
            "sharded: make the two agree."
        )
    return spec


SHARDING: Final[dict[Primitive, Rule]] = {
    dot_general_p: _dot_general,
}
