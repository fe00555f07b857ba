"""Lowering of collectives: only those over a manual mesh axis reach a compiled program.

`vmap` replaces a collective over its axis by operations on whole arrays, so an equation that gets
here names an axis that nothing binds. Manual axes (shard_map) add their rows' meaning in sharding.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from tans_core import Primitive
from tans_core.errors import message
from tans_lax.collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)


def _unbound(primitive: Primitive) -> Callable[..., Any]:
    def lower(ctx: Any, *operands: Any, **params: Any) -> NoReturn:
        del ctx, operands
        names = params.get("axes", params.get("axis_name"))
        raise NameError(
            message(
                primitive.name,
                f"axis names {names!r}, which are not bound in the compiled program",
                "a mapping function around the call",
                "Call it inside vmap(..., axis_name=...) or inside shard_map.",
            )
        )

    return lower


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    primitive: _unbound(primitive)
    for primitive in (
        psum_p,
        pmax_p,
        pmin_p,
        ppermute_p,
        pbroadcast_p,
        all_gather_p,
        all_to_all_p,
        reduce_scatter_p,
        axis_index_p,
    )
}
