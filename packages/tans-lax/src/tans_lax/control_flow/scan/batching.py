"""Batching of scan: a carry is mapped if it, or anything that flows into it, is."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData, BatchContext, Dims
from tans_core.hi_types import MappingSpec, is_hi_type
from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.refs import freeze_p, get_p, is_ref_type, new_ref_p, swap_p
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_lax.control_flow.reach import reached_carry, through_smooth
from tans_lax.control_flow.scan import scan_p
from tans_lax.rows import batch_to_front, move_axis

type Value = Any


def settle_dims(
    ctx: BatchContext,
    axis: AxisData,
    body: ClosedJaxpr,
    consts: Sequence[int | None],
    carry: Sequence[int | None],
    xs: Sequence[int | None],
) -> tuple[ClosedJaxpr, Dims]:
    """Batch a loop's body; mapped carries have their mapped dimension in front.

    Returns:
      The body, and the dimensions of its outputs.
    """
    num_carry = len(carry)
    mapped = reached_carry(
        body,
        [d is not None for d in consts],
        [d is not None for d in carry],
        [d is not None for d in xs],
        through_smooth,
    )
    avals = body.in_avals[len(consts) : len(consts) + num_carry]
    carry = [
        (d if is_hi_type(a) else 0) if m else None
        for m, d, a in zip(mapped, carry, avals, strict=True)
    ]
    while True:
        batched, dims_out = ctx.batch_jaxpr(body, axis, (*consts, *carry, *xs))
        grown = [
            (d if d is not None else o) if is_hi_type(a) else 0 if d is not None or o is not None
            else None
            for d, o, a in zip(carry, dims_out, avals, strict=False)
        ]  # fmt: skip
        if grown == carry:
            break
        carry = grown
    wanted = (*carry, *dims_out[num_carry:])
    if dims_out != wanted:
        batched, _ = ctx.batch_jaxpr(body, axis, (*consts, *carry, *xs), wanted)
    return batched, wanted


def _scan_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Value], list[int | None]]:
    first_x = num_consts + num_carry
    if any(isinstance(d, MappingSpec) for d in dims[first_x:]):
        raise NotImplementedError(
            "scan: given stacked values of a user type that are mapped by vmap too; expected "
            "mapped arrays, constants or carries. Take the values apart before the loop."
        )
    # Dimension 0 of xs is the loop's: a mapped dimension there moves to 1, which is 0 in a step.
    moved = [d == 0 for d in dims[first_x:]]
    xs = [_moved(x) if m else x for x, m in zip(args[first_x:], moved, strict=True)]
    xs_dims = [None if d is None else max(d - 1, 0) for d in dims[first_x:]]
    batched, dims_out = settle_dims(
        ctx, axis, jaxpr, dims[:num_consts], dims[num_consts:first_x], xs_dims
    )
    init = [
        x if out is None else batch_to_front(axis, x, d)
        for x, d, out in zip(args[num_consts:first_x], dims[num_consts:], dims_out, strict=False)
    ]
    outs = scan_p.bind(
        *args[:num_consts], *init, *xs,
        jaxpr=batched, num_consts=num_consts, num_carry=num_carry, **params,
    )  # fmt: skip
    for x, m, other in zip(args[first_x:], moved, xs, strict=True):
        if m and is_ref_type(typeof(x)):
            swap_p.bind(x, move_axis(freeze_p.bind(other), 1, 0), transforms=())
    ys_dims = [None if d is None else d + 1 for d in dims_out[num_carry:]]
    return outs, [*dims_out[:num_carry], *ys_dims]


def _moved(x: Value) -> Value:
    """Move dimension 0 to 1; of a ref, in a new ref, which is written back after the loop."""
    aval: Any = typeof(x)
    if not is_ref_type(aval):
        return move_axis(x, 0, 1)
    value = move_axis(get_p.bind(x, transforms=()), 0, 1)
    return new_ref_p.bind(value, memory_space=aval.memory_space, kind=aval.kind, pin=False)


BATCHING: Final[dict[Primitive, ContextRule[Any]]] = {
    scan_p: ContextRule(_scan_batch),
}
