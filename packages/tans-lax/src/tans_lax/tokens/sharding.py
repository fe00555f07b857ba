"""Sharding rules of tokens, which have no dimensions."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec
from tans_lax.tokens import after_all_p, create_token_p


def _token(ctx: ShardingContext, *tokens: Any) -> Spec:
    del ctx, tokens
    return PartitionSpec()


SHARDING: Final[dict[Primitive, Rule]] = {create_token_p: _token, after_all_p: _token}
