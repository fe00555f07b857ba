"""Sharding rules of slices: a dimension keeps its axes when they divide its new size."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, resized
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p


def _slice(ctx: ShardingContext, x: Any, *_: Any, **params: Any) -> Spec:
    del params
    return resized(ctx, x, ctx.out)


def _dynamic_update_slice(ctx: ShardingContext, x: Any, update: Any, *indices: Any) -> Spec:
    if spec_of(x) is not spec_of(update):
        ctx.refuse(
            "the operand sharding must be equal to that of the update; expected one sharding. "
            "Reshard the update."
        )
    if any(spec_of(i).unreduced or spec_of(i).reduced for i in indices):
        ctx.refuse("expected indices that are neither unreduced nor reduced. Reshard them.")
    return spec_of(x)


SHARDING: Final[dict[Primitive, Rule]] = {
    slice_p: _slice,
    dynamic_slice_p: _slice,
    dynamic_update_slice_p: _dynamic_update_slice,
}
