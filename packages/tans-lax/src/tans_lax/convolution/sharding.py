"""Sharding rule of convolutions: that of the input, but for features; the kernel is whole."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_lax.convolution import conv_general_dilated_p
from tans_lax.propagation import Rule, Spec, entries_of, refuse_unreduced, requested_spec


def _conv(
    ctx: ShardingContext,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    batch_group_count: int,
    out_sharding: Any,
    **_: Any,
) -> Spec:
    refuse_unreduced(ctx, lhs, rhs)
    if out_sharding is not None:
        return requested_spec(ctx, out_sharding, ctx.out.ndim)
    entries = entries_of(lhs)
    batch, features, *spatial = dimension_numbers.lhs_spec
    kernel_sharded = any(e is not None for e in entries_of(rhs))
    grouped = batch_group_count > 1 and entries[batch] is not None
    if kernel_sharded or entries[features] is not None or grouped:
        ctx.refuse(
            "expected a kernel that is not sharded, and an input whose feature dimension is not. "
            "Reshard them, or give out_sharding."
        )
    out: list[Any] = [None] * ctx.out.ndim
    out_batch, _features, *out_spatial = dimension_numbers.out_spec
    out[out_batch] = entries[batch]
    for source, target in zip(spatial, out_spatial, strict=True):
        out[target] = entries[source]
    return PartitionSpec(*out)


SHARDING: Final[dict[Primitive, Rule]] = {
    conv_general_dilated_p: _conv,
}
