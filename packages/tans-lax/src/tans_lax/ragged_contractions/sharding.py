"""Sharding rule of ragged products: none is inferred."""

from typing import Any, Final, NoReturn

from tans_core.explicit_mode import ShardingContext
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule
from tans_lax.ragged_contractions import ragged_dot_general_p


def _ragged_dot(ctx: ShardingContext, *avals: Any, **params: Any) -> NoReturn:
    del avals, params
    ctx.refuse(
        "the groups of a ragged product lie anywhere on the mesh; expected replicated operands. "
        "Reshard them first: reshard(x, P()).",
        NotImplementedError,
    )


SHARDING: Final[dict[Primitive, Rule]] = {
    ragged_dot_general_p: _ragged_dot,
}
