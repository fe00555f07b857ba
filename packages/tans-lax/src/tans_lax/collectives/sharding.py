"""How results of collectives vary along manual axes, and their specs along explicit ones.

A collective over manual axes leaves the sharding over the other axes as it is.
"""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec
from tans_lax.collectives import primitives as p
from tans_lax.collectives.casts import checked_names
from tans_lax.collectives.names import as_names
from tans_lax.propagation import Rule, Spec, entries_of, states_like

type Axes = frozenset[Any]


def _own_axes(params: dict[str, Any]) -> Axes:
    return frozenset(as_names(params["axes"] if "axes" in params else params["axis_name"]))


def _varying(x: Any, *_: Any, **params: Any) -> Axes:
    del params
    return x.manual_axes


def _leaves(x: Any, **params: Any) -> Axes:
    return x.manual_axes - _own_axes(params)


def _enters(x: Any, **params: Any) -> Axes:
    return x.manual_axes | _own_axes(params)


def _axis_index_axes(*, axis_name: Any) -> Axes:
    return frozenset(checked_names((axis_name,)))


MANUAL_AXES: Final[dict[Primitive, Callable[..., Axes]]] = {
    p.pmax_p: _leaves,
    p.pmin_p: _leaves,
    p.axis_index_p: _axis_index_axes,
    p.psum_invariant_p: _leaves,
    p.unreduced_psum_p: _varying,
    p.pvary_p: _enters,
    p.preduced_p: _varying,
    p.vary_unreduced_cast_p: _leaves,
    p.reduced_vary_cast_p: _enters,
    p.all_gather_invariant_p: _leaves,
    p.all_gather_reduced_p: _leaves,
    p.unreduced_reduce_scatter_p: _enters,
}


def _same(ctx: ShardingContext, x: Any, *_: Any, **params: Any) -> Spec:
    del ctx, params
    return spec_of(x)


def _none(ctx: ShardingContext, **params: Any) -> Spec:
    del ctx, params
    return None


def _with_states(
    spec: PartitionSpec, *, unreduced: Axes | None = None, reduced: Axes | None = None
) -> PartitionSpec:
    unreduced = spec.unreduced if unreduced is None else unreduced
    return PartitionSpec(
        *spec.partitions,
        unreduced=unreduced,
        reduced=spec.reduced if reduced is None else reduced,
        unreduced_kind=spec.unreduced_kind if unreduced else None,
    )


def _unreduced_psum(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    del ctx
    spec = spec_of(x)
    return _with_states(spec, unreduced=spec.unreduced - _own_axes(params))


def _vary_unreduced(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    del ctx
    spec = spec_of(x)
    return _with_states(spec, unreduced=spec.unreduced | _own_axes(params))


def _preduced(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    del ctx
    spec = spec_of(x)
    return _with_states(spec, reduced=spec.reduced | _own_axes(params))


def _reduced_vary(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    del ctx
    spec = spec_of(x)
    return _with_states(spec, reduced=spec.reduced - _own_axes(params))


def _all_gather(
    ctx: ShardingContext, x: Any, *, all_gather_dimension: int, tiled: bool, **params: Any
) -> PartitionSpec:
    del ctx, params
    entries = entries_of(x)
    if not tiled:
        entries.insert(all_gather_dimension, None)
    return states_like(x, entries)


def _all_gather_reduced(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    spec = _all_gather(ctx, x, **params)
    return _with_states(spec, reduced=spec.reduced | _own_axes(params))


def _reduce_scatter(
    ctx: ShardingContext, x: Any, *, scatter_dimension: int, tiled: bool, **params: Any
) -> PartitionSpec:
    del params
    entries = entries_of(x)
    if not tiled:
        if entries[scatter_dimension] is not None:
            ctx.refuse(
                f"dimension {scatter_dimension}, which disappears, is sharded over another axis; "
                "expected an unsharded one. Pass tiled=True, or reshard the operand."
            )
        del entries[scatter_dimension]
    return states_like(x, entries)


def _unreduced_reduce_scatter(ctx: ShardingContext, x: Any, **params: Any) -> Spec:
    spec = _reduce_scatter(ctx, x, **params)
    return _with_states(spec, unreduced=spec.unreduced - _own_axes(params))


def _ragged(ctx: ShardingContext, operand: Any, output: Any, *_: Any, **params: Any) -> Spec:
    del ctx, operand, params
    return spec_of(output)


SHARDING: Final[dict[Primitive, Rule]] = {
    p.psum_p: _same,
    p.pmax_p: _same,
    p.pmin_p: _same,
    p.ppermute_p: _same,
    p.pbroadcast_p: _same,
    p.all_gather_p: _all_gather,
    p.all_to_all_p: _same,
    p.reduce_scatter_p: _reduce_scatter,
    p.axis_index_p: _none,
    p.ragged_all_to_all_p: _ragged,
    p.psum_invariant_p: _same,
    p.unreduced_psum_p: _unreduced_psum,
    p.pvary_p: _same,
    p.preduced_p: _preduced,
    p.vary_unreduced_cast_p: _vary_unreduced,
    p.reduced_vary_cast_p: _reduced_vary,
    p.all_gather_invariant_p: _all_gather,
    p.all_gather_reduced_p: _all_gather_reduced,
    p.unreduced_reduce_scatter_p: _unreduced_reduce_scatter,
}
