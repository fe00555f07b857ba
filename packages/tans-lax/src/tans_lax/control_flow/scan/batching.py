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
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.reach import reached_carry, through_smooth
from tans_lax.control_flow.scan import scan_p
from tans_lax.rows import broadcast_batch, move_axis
from tans_lax.user_types import Stacked, rearranged, respecified, whole_spec

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
        grown = [_joined(a, d, o) for d, o, a in zip(carry, dims_out, avals, strict=False)]
        if grown == carry:
            break
        carry = grown
    wanted = (*carry, *dims_out[num_carry:])
    if dims_out != wanted:
        batched, _ = ctx.batch_jaxpr(body, axis, (*consts, *carry, *xs), wanted)
    return batched, wanted


def _joined(element: Any, before: Any, after: Any) -> Any:
    """Return how a carry is mapped that enters a step and leaves it mapped in two ways."""
    if not is_hi_type(element):
        return None if before is after is None else 0
    if before is None:
        return after
    return before if after in (None, before) else whole_spec(element, [before])


def placed(axis: AxisData, x: Value, dim: Any, wanted: Any) -> Value:
    """Return a carry mapped as the loop wants it: in front, along a spec, or not at all."""
    if wanted is None:
        return x
    if isinstance(dim, MappingSpec):
        aval: Any = typeof(x)
        return respecified(x, aval.dec_rank(axis.size, dim), axis.size, dim, wanted)
    return broadcast_batch(x, axis, wanted) if dim is None else move_axis(x, dim, 0)


def _scan_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    **params: Any,
) -> tuple[list[Value], list[int | None]]:
    first_x = num_consts + num_carry
    moved = [d == 0 for d in dims[first_x:]]
    rows = zip(args[first_x:], dims[first_x:], jaxpr.in_avals[first_x:], strict=True)
    found = [_steps(axis, length, x, d, a) for x, d, a in rows]
    xs, xs_dims = [x for x, _ in found], [d for _, d in found]
    batched, dims_out = settle_dims(
        ctx, axis, jaxpr, dims[:num_consts], dims[num_consts:first_x], xs_dims
    )
    init = [
        placed(axis, x, d, out)
        for x, d, out in zip(args[num_consts:first_x], dims[num_consts:], dims_out, strict=False)
    ]
    outs = scan_p.bind(
        *args[:num_consts], *init, *xs,
        jaxpr=batched, num_consts=num_consts, num_carry=num_carry, length=length, **params,
    )  # fmt: skip
    for x, m, other in zip(args[first_x:], moved, xs, strict=True):
        if m and is_ref_type(typeof(x)):
            swap_p.bind(x, move_axis(freeze_p.bind(other), 1, 0), transforms=())
    rows = zip(outs[num_carry:], dims_out[num_carry:], jaxpr.out_avals[num_carry:], strict=True)
    ys = [_lanes(axis, length, y, d, a) for y, d, a in rows]
    return [*outs[:num_carry], *(y for y, _ in ys)], [*dims_out[:num_carry], *(d for _, d in ys)]


def _steps(axis: AxisData, length: int, x: Value, dim: Any, element: Any) -> tuple[Value, Any]:
    """Return stacked values with the loop's axis outermost, and how a step's value is mapped."""
    if not isinstance(dim, MappingSpec):
        # Dimension 0 is the loop's: a mapped dimension there moves to 1, which is 0 in a step.
        return (_moved(x) if dim == 0 else x), None if dim is None else max(dim - 1, 0)
    spec = element.leading_axis_spec()
    steps = Stacked("step", length, spec)
    mapped = element.inc_rank(axis.size, spec)
    old = [steps, Stacked("lane", axis.size, dim)]
    new = [Stacked("lane", axis.size, spec), steps._replace(spec=mapped.leading_axis_spec())]
    return rearranged(x, element, old, new), spec


def _lanes(axis: AxisData, length: int, y: Value, dim: Any, element: Any) -> tuple[Value, Any]:
    """Return stacked results with the mapped axis outermost, and how they are mapped."""
    if not isinstance(dim, MappingSpec):
        return y, None if dim is None else dim + 1
    steps = Stacked("step", length, element.leading_axis_spec())
    mapped = element.inc_rank(axis.size, dim)
    old = [Stacked("lane", axis.size, dim), steps._replace(spec=mapped.leading_axis_spec())]
    spec = stacked_type(element, length).leading_axis_spec()
    return rearranged(y, element, old, [steps, Stacked("lane", axis.size, spec)]), spec


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
