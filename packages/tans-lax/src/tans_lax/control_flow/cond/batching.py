"""Batching of cond: one branch runs while the index is not mapped, else all do.

With a mapped index, operands of lanes in which a branch is not taken must not disturb: a branch
may divide by zero there. `active_lanes` is the identity whose derivative flows only through the
lanes that are taken, so that such a lane's infinite slope meets no zero cotangent.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import dtypes
from tans_core.context import AxisData, BatchContext, Dims
from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_lax.control_flow.cond import active_lanes_p, cond_p
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select_n
from tans_lax.rows import batch_to_front
from tans_lax.shape import broadcast_in_dim
from tans_lax.user_types import choose, whole_spec

type Value = Any
type Jaxprs = tuple[ClosedJaxpr, ...]


def _cond_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    branches: Jaxprs,
    **params: Any,
) -> tuple[list[Value], list[int | None]]:
    (index, *ops), (index_dim, *op_dims) = args, dims
    if index_dim is not None:
        return _select_branch(ctx, axis, index, ops, op_dims, branches)
    natural = [ctx.batch_jaxpr(b, axis, tuple(op_dims)) for b in branches]
    out_dims = tuple(
        None if all(d is None for d in column)
        else whole_spec(a, column) if is_hi_type(a)
        else 0
        for a, column in zip(
            branches[0].out_avals, zip(*(dims_out for _, dims_out in natural), strict=True),
            strict=True,
        )
    )  # fmt: skip
    bodies = tuple(
        body if dims_out == out_dims else ctx.batch_jaxpr(b, axis, tuple(op_dims), out_dims)[0]
        for b, (body, dims_out) in zip(branches, natural, strict=True)
    )
    return cond_p.bind(index, *ops, branches=bodies, **params), list(out_dims)


def _select_branch(
    ctx: BatchContext,
    axis: AxisData,
    index: Value,
    ops: Sequence[Value],
    op_dims: Sequence[int | None],
    branches: Jaxprs,
) -> tuple[list[Value], list[int | None]]:
    if any(b.effects for b in branches):
        _check_effects(branches)
    # Operands without a derivative need no guard and stay as they are, as do those of user types.
    guarded = [dtypes.is_inexact(getattr(typeof(x), "dtype", bool)) for x in ops]
    ops = [
        batch_to_front(axis, x, d) if g else x
        for x, d, g in zip(ops, op_dims, guarded, strict=True)
    ]
    dims = tuple(0 if g else d for d, g in zip(op_dims, guarded, strict=True))
    out_dims = _specs_of_results(ctx, axis, dims, branches)
    outs_by_branch = []
    for i, branch in enumerate(branches):
        active = eq(index, np.int32(i))
        own = [
            active_lanes_p.bind(active, x) if g else x for x, g in zip(ops, guarded, strict=True)
        ]
        body, _ = ctx.batch_jaxpr(branch, axis, dims, out_dims)
        outs_by_branch.append(eval_closed(body, *own))
    outs = [
        _choose(index, choices) if d == 0 else choose(index, choices, d, axis.size)
        for d, choices in zip(out_dims, zip(*outs_by_branch, strict=True), strict=True)
    ]
    return outs, list(out_dims)


def _specs_of_results(
    ctx: BatchContext, axis: AxisData, dims: Dims, branches: Jaxprs
) -> tuple[Any, ...]:
    """Return where the results are to be mapped: arrays in front, values of user types as is."""
    avals = branches[0].out_avals
    if not any(map(is_hi_type, avals)):
        return (0,) * len(avals)
    natural = zip(*(ctx.batch_jaxpr(b, axis, dims)[1] for b in branches), strict=True)
    return tuple(
        whole_spec(a, column) if is_hi_type(a) else 0
        for a, column in zip(avals, natural, strict=True)
    )


def _check_effects(branches: Jaxprs) -> None:
    """Refuse effects on state: all branches run, so the ones not taken would change it."""
    effects = [e for b in branches for e in b.effects if getattr(e, "is_state", False)]
    if effects:
        raise NotImplementedError(
            f"vmap of cond: given a mapped predicate and branches with the effects {effects}; "
            "expected branches without effects on state, because all branches run. Select values "
            "with jnp.where and write once."
        )


def _choose(index: Value, choices: Sequence[Value]) -> Value:
    shape = typeof(choices[0]).shape  # pyright: ignore[reportAttributeAccessIssue]
    if len(choices) == 2:
        index = eq(index, np.int32(1))
    if len(shape) > 1:
        index = broadcast_in_dim(index, shape, (0,))
    return select_n(index, *choices)


def _active_lanes_batch(axis: AxisData, args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    active, x = (batch_to_front(axis, a, d) for a, d in zip(args, dims, strict=True))
    return active_lanes_p.bind(active, x), 0


BATCHING: Final[dict[Primitive, Any]] = {
    cond_p: ContextRule(_cond_batch),
    active_lanes_p: _active_lanes_batch,
}
