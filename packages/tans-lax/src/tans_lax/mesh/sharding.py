"""Sharding rules of `reshard`: every state of an axis can become every other, but for parts.

Addends along one axis can't become addends along another without being summed in between, and
parts that combine by max or min can only be combined.
"""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec, UnreducedKind
from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_p, sharding_constraint_p
from tans_lax.propagation import Rule, Spec, linear_unary, requested_spec


def _reshard(ctx: ShardingContext, x: Any, *, dst_sharding: NamedSharding) -> Spec:
    target = requested_spec(ctx, dst_sharding, x.ndim)
    own = spec_of(x)
    _check_kinds(ctx, own, target)
    added, left = target.unreduced - own.unreduced, own.unreduced - target.unreduced
    if added and left:
        ctx.refuse(
            f"and the target {target!r}; expected unreduced axes that are among those of the "
            f"operand or contain them, not {sorted(added)} in place of {sorted(left)}. Reshard in "
            "two steps: first to P(), then to the target.",
            ValueError,
        )
    return target


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


SHARDING: Final[dict[Primitive, Rule]] = {
    reshard_p: _reshard,
    sharding_constraint_p: linear_unary,
}
