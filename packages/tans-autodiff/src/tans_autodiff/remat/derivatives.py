"""Derivatives of checkpointed calls.

Linearisation computes the values in the enclosing program and records one call in the linear
program: from the arguments (and the values that the policy saves) it computes the residuals anew
and applies the linear part.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.accumulation import take_results
from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_autodiff.remat.recompute import recomputation
from tans_core.accumulators import AccumRule, GradAccum
from tans_core.context import (
    JVPContext,
    LinearizeContext,
    Mask,
    SplitContext,
    TransposeContext,
    merge,
    partition,
)
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import eval_closed
from tans_core.rules import ContextRule
from tans_core.zeros import LinearInput, Zero, zero_tangent

type Value = Any


def _remat_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: Any,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    body, nonzero_out = ctx.jvp_jaxpr(jaxpr, nonzero)
    given = [t for t in tangents if type(t) is not Zero]
    results = remat_p.bind(*primals, *given, jaxpr=body, **params)
    count = len(nonzero_out)
    return results[:count], _with_zeros(jaxpr, nonzero_out, results[count:])


def _with_zeros(jaxpr: Any, nonzero: Mask, tangents: Sequence[Value]) -> list[Value]:
    zeros = [zero_tangent(a) for a, nz in zip(jaxpr.out_avals, nonzero, strict=True) if not nz]
    return merge(nonzero, zeros, tangents)


def _remat_linearize(
    ctx: LinearizeContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: Any,
    policy: Any,
    differentiated: bool,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    plan = recomputation(jaxpr, nonzero, policy)
    results = eval_closed(plan.forward, *primals)
    count = len(jaxpr.out_avals)
    given = [t for t in tangents if type(t) is not Zero]
    operands = [*results[count:], *primals, *given]
    out_tangents = []
    if plan.body.out_avals:
        out_tangents = remat_p.bind(
            *plan.captured,
            *[x for x, used in zip(operands, plan.used, strict=True) if used],
            jaxpr=plan.body,
            policy=policy,
            differentiated=True,
            **params,
        )
    return results[:count], _with_zeros(jaxpr, plan.nonzero_out, out_tangents)


def _remat_split(
    ctx: SplitContext, unknown: Mask, *args: Value, jaxpr: Any, **params: Any
) -> list[Value]:
    parts = ctx.split_jaxpr(jaxpr, unknown)
    known_args, _ = partition(unknown, args)
    count = parts.unknown_out.count(False)
    known_outs = eval_closed(parts.known, *known_args)[:count]
    if all(not u for u in parts.unknown_out):
        return known_outs
    body, used = dce_jaxpr(jaxpr, parts.unknown_out)
    operands = [x for x, u in zip(args, used, strict=True) if u]
    unknown_outs = ctx.record(remat_p, *operands, jaxpr=body, **params)
    return merge(parts.unknown_out, known_outs, unknown_outs)


def _remat_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Any, jaxpr: Any, **params: Any
) -> dict[Any, Any] | None:
    linear = tuple(isinstance(x, GradAccum) for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    known, accums = partition(linear, operands)
    body = ctx.transpose_into(jaxpr, linear, nonzero, tuple(a.kind for a in accums))
    refs = [a.ref for a in accums if a.kind == "ref"]
    given = [ct for ct in cts if type(ct) is not Zero]
    found = []
    if body.program.out_avals or body.program.effects:
        found = remat_p.bind(*known, *refs, *given, jaxpr=body.program, **params)
    return take_results(body, accums, found)


def _name_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, name: str) -> Any:
    return name_p.bind(primals[0], name=name), tangents[0]


def _name_transpose(ct: Value, x: Value, *, name: str) -> tuple[Value]:
    return (ct,)


def _phase_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> Any:
    # Both operands have one value, so the tangent of either is that of the result.
    return phase_p.bind(*primals), tangents[0] if type(tangents[0]) is not Zero else tangents[1]


def _phase_transpose(ct: Value, x: Value, again: Value) -> tuple[Value, Value]:
    return (ct, None) if type(x) is LinearInput else (None, ct)


JVP: Final = {remat_p: ContextRule(_remat_jvp), name_p: _name_jvp, phase_p: _phase_jvp}
LINEARIZE: Final = {remat_p: ContextRule(_remat_linearize)}
TRANSPOSE: Final = {
    remat_p: AccumRule(_remat_transpose),
    name_p: _name_transpose,
    phase_p: _phase_transpose,
}
PARTIAL_EVAL: Final = {remat_p: ContextRule(_remat_split)}
