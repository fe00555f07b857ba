"""Batching of while: all lanes run in step until the last one is done.

When the condition is mapped, a lane whose condition is false keeps its carry.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData, BatchContext, Dims
from tans_core.hi_types import MappingSpec, is_hi_type
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.refs import swap_p, writes
from tans_core.rules import ContextRule
from tans_core.staging import trace_to_jaxpr
from tans_core.values import typeof
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.scan.batching import placed, settle_dims
from tans_lax.control_flow.while_loop import while_p
from tans_lax.control_flow.while_loop.discharge import loop_of_values, value_of
from tans_lax.elementwise.selection import select_n
from tans_lax.reductions import reduce_or
from tans_lax.rows import batch_to_front, move_axis
from tans_lax.shape import broadcast_in_dim
from tans_lax.user_types import choose, whole_spec

type Value = Any

_MEMO: Final[BodyMemo[tuple[ClosedJaxpr, ClosedJaxpr]]] = BodyMemo()


def _while_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[list[Value], list[int | None]]:
    first = cond_nconsts + body_nconsts
    cond_dims, body_dims = dims[:cond_nconsts], dims[cond_nconsts:first]
    body, carry = settle_dims(ctx, axis, body_jaxpr, body_dims, dims[first:], ())
    cond, predicate = ctx.batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *carry))
    by_lane = predicate != (None,)
    if by_lane and (writes(cond_jaxpr.effects) or writes(body_jaxpr.effects)):
        return _on_values(ctx, axis, args, dims, cond_jaxpr, body_jaxpr, cond_nconsts, first)
    avals = body_jaxpr.out_avals
    if by_lane and (None in carry or predicate != (0,) or any(map(is_hi_type, avals))):
        carry = tuple(
            whole_spec(a, [d]) if is_hi_type(a) else 0 for a, d in zip(avals, carry, strict=True)
        )
        cond, _ = ctx.batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *carry), (0,))
        body, _ = ctx.batch_jaxpr(body_jaxpr, axis, (*body_dims, *carry), carry)
    init = [
        placed(axis, x, d, out) for x, d, out in zip(args[first:], dims[first:], carry, strict=True)
    ]
    if by_lane:
        cond, body = _MEMO.get(
            body,
            (cond, cond_nconsts, body_nconsts, carry),
            lambda: (
                _any_lane(cond),
                _masked(axis, carry, cond, body, cond_nconsts, body_nconsts),
            ),
        )
        # The body decides again which lanes are running, so it needs the condition's constants.
        consts = [*args[:cond_nconsts], *args[:first]]
        body_nconsts = first
    else:
        consts = args[:first]
    outs = while_p.bind(
        *consts, *init,
        cond_nconsts=cond_nconsts, cond_jaxpr=cond,
        body_nconsts=body_nconsts, body_jaxpr=body,
    )  # fmt: skip
    return outs, list(carry)


def _on_values(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    first: int,
) -> tuple[list[Value], list[int | None]]:
    """Carry the values of the refs, so that lanes that are done write nothing; write them after."""
    if writes(cond_jaxpr.effects):
        raise NotImplementedError(
            "vmap of while_loop: given a mapped condition that writes refs; expected one that only "
            "reads, because lanes that are done would go on writing. Write in the body."
        )
    loop = loop_of_values(args[:first], cond_jaxpr, body_jaxpr, cond_nconsts)
    consts = [value_of(args[i]) for i in loop.kept]
    outs, out_dims = _while_batch(
        ctx,
        axis,
        [*consts, *consts, *(value_of(args[i]) for i in loop.state), *args[first:]],
        (*(dims[i] for i in (*loop.kept, *loop.kept, *loop.state)), *dims[first:]),
        cond_jaxpr=loop.predicate(),
        body_jaxpr=loop.step,
        cond_nconsts=len(consts),
        body_nconsts=len(consts),
    )
    for i, new, dim in zip(loop.state, outs, out_dims, strict=False):
        ref_dim = dims[i]
        assert ref_dim is not None, "the body's batching has refused a ref without lanes"
        new = move_axis(batch_to_front(axis, new, dim), 0, ref_dim)  # noqa: PLW2901
        swap_p.bind(args[i], new, transforms=())
    count = len(loop.state)
    return outs[count:], out_dims[count:]


def _any_lane(cond: ClosedJaxpr) -> ClosedJaxpr:
    def condition(*args: Value) -> list[Value]:
        return [reduce_or(eval_closed(cond, *args)[0], (0,))]

    return trace_to_jaxpr(condition, cond.in_avals)


def _masked(
    axis: AxisData,
    dims: Dims,
    cond: ClosedJaxpr,
    body: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> ClosedJaxpr:
    first = cond_nconsts + body_nconsts

    def step(*args: Value) -> list[Value]:
        carry = args[first:]
        running = eval_closed(cond, *args[:cond_nconsts], *carry)[0]
        new = eval_closed(body, *args[cond_nconsts:first], *carry)
        return [
            _by_lane(axis, running, old, x, d) for old, x, d in zip(carry, new, dims, strict=True)
        ]

    avals = [*cond.in_avals[:cond_nconsts], *body.in_avals]
    return trace_to_jaxpr(step, avals, body.jaxpr.debug_info)


def _by_lane(axis: AxisData, running: Value, old: Value, new: Value, dim: Any) -> Value:
    if old is new:
        return old
    if isinstance(dim, MappingSpec):
        return choose(running, [old, new], dim, axis.size)
    shape = typeof(new).shape  # pyright: ignore[reportAttributeAccessIssue]
    if len(shape) > 1:
        running = broadcast_in_dim(running, shape, (0,))
    return select_n(running, old, new)


BATCHING: Final[dict[Primitive, ContextRule[Any]]] = {
    while_p: ContextRule(_while_batch),
}
