"""Scatters of updates that are spread over devices into a sum of addends, one per device.

Every device adds its own part of the updates to its own addend. That is written as a manual
computation: left to itself, the partitioner may sum the addends, or fail when it is asked not to.
"""

from collections.abc import Callable
from typing import Any

from tans_core import ShapedArray, TypedOp
from tans_core.explicit_mode import spec_of
from tans_core.partition_spec import partition_axes
from tans_core.sharding import named_sharding
from tans_lax.gather_scatter.sharding import spread_axes
from tans_xla import hlo
from tans_xla.lowering import LoweringContext
from tans_xla.sdy_attributes import constrain, manual_computation

type IrValue = Any


def by_device(emit: Callable[..., IrValue]) -> Callable[..., IrValue]:
    """Make a lowering rule of scatters that emits one scatter per device where needed."""

    def rule(ctx: LoweringContext, *operands: IrValue, dimension_numbers: Any, **rest: Any) -> Any:
        params = {"dimension_numbers": dimension_numbers, **rest}
        mesh = ctx.builder.mesh
        if mesh is None:
            return emit(ctx, *operands, **params)
        entries = spec_of(ctx.avals_in[1]).partitions[:-1]
        axes = spread_axes(entries, dimension_numbers.scatter_indices_batching_dims)
        if not axes:
            return emit(ctx, *operands, **params)
        shardings = [named_sharding(mesh, spec_of(a)) for a in (*ctx.avals_in, *ctx.avals_out)]
        parts = [_part(a, axes, mesh) for a in (*ctx.avals_in, *ctx.avals_out)]
        held = [constrain(x, s) for x, s in zip(operands, shardings[:-1], strict=True)]
        region = manual_computation(
            ctx.result_types, held, shardings[:-1], shardings[-1:], sorted(axes, key=str), mesh
        )
        assert ctx.eqn is not None
        op = TypedOp(ctx.eqn.primitive, tuple(parts[:-1]), params, (parts[-1],), frozenset())
        local = LoweringContext(ctx.builder, op, ctx.eqn, ctx.tokens)
        with region.block([hlo.ir_type(a) for a in parts[:-1]]) as blocks:
            region.ret([emit(local, *blocks, **params)])
        return region.results[0]

    return rule


def _part(aval: Any, axes: frozenset[Any], mesh: Any) -> ShapedArray:
    """Return the type of one device's part along some axes."""
    shape = list(aval.shape)
    for d, entry in enumerate(spec_of(aval).partitions):
        for axis in partition_axes(entry):
            if axis in axes:
                shape[d] //= mesh.shape[axis]
    return ShapedArray(tuple(shape), aval.dtype)
