"""Sharding rules of keys: those of their words, which are not sharded themselves."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, require_unsharded
from tans_random.wrapping import (
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
)


def _wrap(ctx: ShardingContext, words: Any, **params: Any) -> Spec:
    del params
    ndim = ctx.out.ndim
    require_unsharded(ctx, words, range(ndim, words.ndim), "Reshard the words of the keys.")
    return PartitionSpec(*spec_of(words).partitions[:ndim])


def _unwrap(ctx: ShardingContext, keys: Any, **params: Any) -> Spec:
    del params
    return spec_of(keys).padded(ctx.out.ndim)


SHARDING: Final[dict[Primitive, Rule]] = {
    random_wrap_p: _wrap,
    random_unwrap_p: _unwrap,
    random_consume_p: _unwrap,
    random_clone_p: _unwrap,
}
