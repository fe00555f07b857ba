"""Sharding rules of changes of dtype."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.primitive import Primitive
from tans_lax.conversion import bitcast_convert_type_p, convert_element_type_p
from tans_lax.propagation import (
    Rule,
    Spec,
    entries_of,
    linear_unary,
    refuse_unreduced,
    states_like,
    with_request,
)


def _bitcast(ctx: ShardingContext, x: Any, *, new_dtype: Any) -> Spec:
    """A narrower dtype adds a minor dimension, a wider one drops it with its entry."""
    del new_dtype
    refuse_unreduced(ctx, x)
    entries = [*entries_of(x), None]
    return states_like(x, entries[: ctx.out.ndim])


SHARDING: Final[dict[Primitive, Rule]] = {
    convert_element_type_p: with_request(linear_unary, "sharding"),
    bitcast_convert_type_p: _bitcast,
}
