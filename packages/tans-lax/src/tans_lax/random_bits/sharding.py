"""Sharding rules of random bits."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_lax.propagation import (
    Rule,
    Spec,
    merged_entries,
    refuse_unreduced,
    replicated,
    requested_spec,
)
from tans_lax.random_bits import rng_bit_generator_p, rng_uniform_p, threefry2x32_p


def _threefry(ctx: ShardingContext, *avals: Any) -> list[Spec]:
    refuse_unreduced(ctx, *avals)
    return [PartitionSpec(*merged_entries(ctx, avals))] * 2


def _rng_bit_generator(ctx: ShardingContext, key: Any, *, out_sharding: Any, **_: Any) -> list:
    refuse_unreduced(ctx, key)
    if out_sharding is None:
        return [spec_of(key), None]
    return [spec_of(key), requested_spec(ctx, out_sharding, ctx.out_avals[1].ndim)]


SHARDING: Final[dict[Primitive, Rule]] = {
    threefry2x32_p: _threefry,
    rng_bit_generator_p: _rng_bit_generator,
    rng_uniform_p: replicated,
}
