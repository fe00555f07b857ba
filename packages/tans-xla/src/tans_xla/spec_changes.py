"""Which changes of sharding may be asked for.

The partitioner of jaxlib 0.12.0 ends the process at some of the others.
"""

from tans_core.explicit_mode import ShardingContext
from tans_core.partition_spec import PartitionSpec, UnreducedKind


def check_states(ctx: ShardingContext, own: PartitionSpec, target: PartitionSpec) -> None:
    """Refuse changes of parts: every state of an axis can become every other, but for these.

    Addends along one axis can't become addends along another without being summed in between, and
    parts that combine by max or min can only be combined.
    """
    _check_kinds(ctx, own, target)
    added, left = target.unreduced - own.unreduced, own.unreduced - target.unreduced
    if added and left:
        ctx.refuse(
            f"and the target {target!r}; expected unreduced axes that are among those of the "
            f"operand or contain them, not {sorted(added)} in place of {sorted(left)}. Reshard in "
            "two steps: first to P(), then to the target.",
            ValueError,
        )


def _check_kinds(ctx: ShardingContext, own: PartitionSpec, target: PartitionSpec) -> None:
    kinds = [own.unreduced_kind, target.unreduced_kind]
    if own.unreduced and target.unreduced and kinds[0] is not kinds[1]:
        ctx.refuse(
            f"and the target {target!r}; expected the operand's kind of parts. Reshard it to P() "
            "first.",
            ValueError,
        )
    if target.unreduced - own.unreduced and kinds[1] is not UnreducedKind.sum:
        ctx.refuse(
            f"and the target {target!r}; only sums can be taken apart. Make parts that combine "
            "by max or min with lax.reduce_max or reduce_min and out_sharding.",
            ValueError,
        )
