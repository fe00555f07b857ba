"""shard_map in low programs: parts of user types are taken apart, as their specs say."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.hi_types import HiPspec, lower_value
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_sharding.shard_mapping.derivatives import mapping_of
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_sharding.shard_mapping.types import shard_map_types


def _shard_map_to_lo(ctx: Any, *args: Any, **params: Any) -> list[Any]:
    jaxpr = params["jaxpr"]
    with mapping_of(params).inside():
        body = ctx.lo_jaxpr(jaxpr)
    found = shard_map_p.bind(
        *(lo for x in args for lo in lower_value(typeof(x), x)),
        **params
        | {
            "jaxpr": body,
            "in_specs": _lo_specs(ctx, params["in_specs"], jaxpr.in_avals),
            "out_specs": _lo_specs(ctx, params["out_specs"], jaxpr.out_avals),
        },
    )
    # The whole is made of as many arrays as a part.
    return ctx.raised(shard_map_types(**params).avals, found)


def _lo_specs(ctx: Any, specs: Sequence[Any], avals: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        part
        for spec, aval in zip(specs, avals, strict=True)
        for part in (spec.to_lo() if isinstance(spec, HiPspec) else ctx.spread([aval], [spec]))
    )


TO_LO: Final = {shard_map_p: ContextRule(_shard_map_to_lo)}
