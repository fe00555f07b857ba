"""Derivatives of cond: a cond over the branches' derivatives, with the same index."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.accumulators import AccumRule
from tans_core.context import (
    JVPContext,
    LinearizeContext,
    Mask,
    SplitContext,
    merge,
    partition,
)
from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.staging import lift_tracer_consts
from tans_core.trace import Tracer
from tans_core.values import typeof
from tans_core.zeros import Zero, is_linear_input, is_zero, zero_tangent
from tans_lax.control_flow.cond import active_lanes_p, cond_p
from tans_lax.control_flow.cond.residuals import BranchParts, JoinedParts, join_parts
from tans_lax.control_flow.cond.transposition import cond_transpose
from tans_lax.control_flow.programs import widened
from tans_lax.elementwise.selection import select_n
from tans_lax.rows import instantiate_zeros
from tans_lax.shape import broadcast_in_dim

type Value = Any
type Jaxprs = tuple[ClosedJaxpr, ...]


def _union(masks: Sequence[Sequence[bool]]) -> Mask:
    return tuple(any(column) for column in zip(*masks, strict=True))


def _zero_tangents(branches: Jaxprs, nz: Mask) -> list[Zero]:
    avals = branches[0].out_avals
    return [zero_tangent(a) for a, z in zip(avals, nz, strict=True) if not z]


def _cond_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    branches: Jaxprs,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    nz = tuple(not is_zero(t) for t in tangents[1:])
    nz_out = _union([ctx.jvp_jaxpr(b, nz)[1] for b in branches])
    bodies = tuple(ctx.jvp_jaxpr(b, nz, nz_out)[0] for b in branches)
    dots = [t for t in tangents[1:] if not is_zero(t)]
    outs = cond_p.bind(*primals, *dots, branches=bodies, **params)
    n = len(nz_out)
    return outs[:n], merge(nz_out, _zero_tangents(branches, nz_out), outs[n:])


def _cond_linearize(
    ctx: LinearizeContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    branches: Jaxprs,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    index, *ins = primals
    nz = tuple(not is_zero(t) for t in tangents[1:])
    nz_out = _union([ctx.linearize_jaxpr(b, nz).nonzero_out for b in branches])
    lins = [ctx.linearize_jaxpr(b, nz, nz_out) for b in branches]
    parts = [BranchParts(lin.primal, lin.forwards, lin.linear) for lin in lins]
    joined = join_parts(parts, len(nz_out))
    outs, residuals = _run_first(joined, index, ins, params)
    outs_dot: list[Value] = []
    if any(nz_out) or any(b.effects for b in joined.second):
        dots = [t for t in tangents[1:] if not is_zero(t)]
        outs_dot = bind_lifted(index, [*residuals, *dots], joined.second, params)
    return outs, merge(nz_out, _zero_tangents(branches, nz_out), outs_dot)


def bind_lifted(
    index: Value, operands: Sequence[Value], branches: Jaxprs, params: dict[str, Any]
) -> list[Value]:
    """Bind a cond; what custom rules in its branches captured from a trace becomes an operand."""
    if not any(isinstance(c, Tracer) for b in branches for c in b.consts):
        return cond_p.bind(index, *operands, branches=branches, **params)
    lifted = [lift_tracer_consts(b) for b in branches]
    captured = [x for _, own in lifted for x in own]
    avals = [*map(typeof, captured), *branches[0].in_avals]
    bodies, start = [], 0
    for body, own in lifted:
        n = len(own)
        of_captured = [i - start if 0 <= i - start < n else None for i in range(len(captured))]
        bodies.append(widened(body, [*of_captured, *range(n, n + len(operands))], avals))
        start += n
    return cond_p.bind(index, *captured, *operands, branches=tuple(bodies), **params)


def _run_first(
    joined: JoinedParts, index: Value, ins: Sequence[Value], params: dict[str, Any]
) -> tuple[list[Value], list[Value]]:
    """Bind the first of the two conds; return its results and the residuals."""
    outs: list[Value] = []
    first = joined.first
    if first[0].out_avals or any(b.effects for b in first):
        outs = bind_lifted(index, ins, first, params)
    return outs[: joined.num_outs], joined.residuals(ins, outs)


def _cond_partial_eval(
    ctx: SplitContext, unknown: Mask, *args: Value, branches: Jaxprs, **params: Any
) -> list[Value]:
    if unknown[0]:
        return ctx.record(cond_p, *args, branches=branches, **params)
    index, *ins = args
    mask = tuple(unknown[1:])
    un_out = _union([ctx.split_jaxpr(b, mask).unknown_out for b in branches])
    splits = [ctx.split_jaxpr(b, mask, un_out) for b in branches]
    parts = [BranchParts(s.known, None, s.unknown) for s in splits]
    joined = join_parts(parts, un_out.count(False))
    known_ins, unknown_ins = partition(mask, ins)
    known_outs, residuals = _run_first(joined, index, known_ins, params)
    unknown_outs: list[Value] = []
    if any(un_out) or any(b.effects for b in joined.second):
        unknown_outs = ctx.record(
            cond_p, index, *residuals, *unknown_ins, branches=joined.second, **params
        )
    return merge(un_out, known_outs, unknown_outs)


def _active_lanes_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
    active, x = primals
    out = active_lanes_p.bind(active, x)
    tangent = tangents[1]
    if is_zero(tangent):
        return out, zero_tangent(typeof(out))
    return out, _zero_elsewhere(active, tangent)


def _active_lanes_transpose(ct: Value, active: Value, x: Value) -> list[Value]:
    return [None, _zero_elsewhere(active, ct) if is_linear_input(x) else None]


def _zero_elsewhere(active: Value, x: Value) -> Value:
    shape = typeof(x).shape  # pyright: ignore[reportAttributeAccessIssue]
    mask: Any = typeof(active)
    if mask.shape != shape:
        active = broadcast_in_dim(active, shape, tuple(range(mask.ndim)))
    return select_n(active, instantiate_zeros(Zero(typeof(x))), x)


JVP: Final[dict[Primitive, Any]] = {
    cond_p: ContextRule(_cond_jvp),
    active_lanes_p: _active_lanes_jvp,
}

LINEARIZE: Final[dict[Primitive, ContextRule[Any]]] = {
    cond_p: ContextRule(_cond_linearize),
}

PARTIAL_EVAL: Final[dict[Primitive, ContextRule[Any]]] = {
    cond_p: ContextRule(_cond_partial_eval),
}

TRANSPOSE: Final[dict[Primitive, Any]] = {
    cond_p: AccumRule(cond_transpose),
    active_lanes_p: _active_lanes_transpose,
}
