"""Derivatives of a nested jit: calls of the derived functions, under the same name and options.

Bodies are transformed once per pattern of tangents and keep their identity, so identical layers
still lower to one function, forwards and backwards.
"""

from collections.abc import Sequence
from typing import Any, Final

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
from tans_core.jaxpr import ClosedJaxpr
from tans_core.rules import ContextRule
from tans_core.staging import hoist_consts
from tans_core.zeros import Zero, is_zero, zero_tangent
from tans_xla.jit.primitive import jit_p
from tans_xla.jit.repeated_outputs import distinct_outputs

type Value = Any
type Params = dict[str, Any]


def call_params(
    params: Params, body: ClosedJaxpr, ins: Sequence[Any], outs: Sequence[Any]
) -> Params:
    """Return the params of a derived call.

    Args:
      params: those of the original call.
      body: the derived program.
      ins: sharding of each input, or None where the compiler chooses.
      outs: the same for the outputs.
    """
    return params | {
        "jaxpr": body,
        "donated_invars": (False,) * len(ins),
        "in_shardings": tuple(ins),
        "out_shardings": tuple(outs),
    }


def bind_body(
    bind: Any, body: ClosedJaxpr, args: Sequence[Value], params: Params,
    ins: Sequence[Any], outs: Sequence[Any],
) -> list[Value]:  # fmt: skip
    """Bind a derived call; constants of its body become leading operands."""
    if not body.out_avals and not body.effects:
        return []
    body, consts = hoist_consts(body)
    ins = [None] * len(consts) + list(ins)
    return bind(*consts, *args, **call_params(params, body, ins, outs))


def _select(mask: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    return [x for x, m in zip(values, mask, strict=True) if m]


def _zero_tangents(body: ClosedJaxpr, nonzero: Mask) -> list[Zero]:
    return [zero_tangent(a) for a, nz in zip(body.out_avals, nonzero, strict=True) if not nz]


def _jit_jvp(
    ctx: JVPContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    jaxpr, ins, outs = params["jaxpr"], params["in_shardings"], params["out_shardings"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    body, nonzero_out = ctx.jvp_jaxpr(jaxpr, nonzero)
    results = bind_body(
        jit_p.bind,
        body,
        [*primals, *_select(nonzero, tangents)],
        params,
        [*ins, *_select(nonzero, ins)],
        [*outs, *_select(nonzero_out, outs)],
    )
    count = len(jaxpr.out_avals)
    found = merge(nonzero_out, _zero_tangents(jaxpr, nonzero_out), results[count:])
    return results[:count], found


def _jit_linearize(
    ctx: LinearizeContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    jaxpr, ins, outs = params["jaxpr"], params["in_shardings"], params["out_shardings"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    parts = ctx.linearize_jaxpr(jaxpr, nonzero)
    count = len(jaxpr.out_avals)
    primal = distinct_outputs(parts.primal)
    shardings = [*outs, *[None] * parts.forwards.count(None)]
    small = bind_body(
        jit_p.bind, primal.body, primals, params, ins, [shardings[i] for i in primal.kept]
    )
    results = [small[i] for i in primal.sources]
    found = iter(results[count:])
    residuals = [next(found) if i is None else primals[i] for i in parts.forwards]
    shardings = [None if i is None else ins[i] for i in parts.forwards]
    out_tangents = bind_body(
        jit_p.bind,
        parts.linear,
        [*residuals, *_select(nonzero, tangents)],
        params,
        [*shardings, *_select(nonzero, ins)],
        _select(parts.nonzero_out, outs),
    )
    zeros = _zero_tangents(jaxpr, parts.nonzero_out)
    return results[:count], merge(parts.nonzero_out, zeros, out_tangents)


def _jit_split(ctx: SplitContext, unknown: Mask, *args: Value, **params: Any) -> list[Value]:
    jaxpr, ins, outs = params["jaxpr"], params["in_shardings"], params["out_shardings"]
    parts = ctx.split_jaxpr(jaxpr, unknown)
    known_args, unknown_args = partition(unknown, args)
    known_ins, unknown_ins = partition(unknown, ins)
    known_outs, unknown_outs = partition(parts.unknown_out, outs)
    count = len(known_outs)
    residual_count = len(parts.known.out_avals) - count
    results = bind_body(
        jit_p.bind, parts.known, known_args, params, known_ins, known_outs + [None] * residual_count
    )
    rest = bind_body(
        lambda *operands, **p: ctx.record(jit_p, *operands, **p),
        parts.unknown,
        [*results[count:], *unknown_args],
        params,
        [*[None] * residual_count, *unknown_ins],
        unknown_outs,
    )
    return merge(parts.unknown_out, results[:count], rest)


def _jit_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Any, **params: Any
) -> dict[Any, Any] | None:
    ins, outs = params["in_shardings"], params["out_shardings"]
    linear = tuple(isinstance(x, GradAccum) for x in operands)
    nonzero = tuple(not is_zero(ct) for ct in cts)
    known, accums = partition(linear, operands)
    body = ctx.transpose_into(params["jaxpr"], linear, nonzero, tuple(a.kind for a in accums))
    known_ins, linear_ins = partition(linear, ins)
    refs = [a.ref for a in accums if a.kind == "ref"]
    pairs = [(a, s) for a, s in zip(accums, linear_ins, strict=True) if a.kind == "value"]
    summed = _select(body.nonzero, pairs)
    count = len(body.program.out_avals) - len(summed)
    found = bind_body(
        jit_p.bind,
        body.program,
        [*known, *refs, *_select(nonzero, cts)],
        params,
        [*known_ins, *[None] * len(refs), *_select(nonzero, outs)],
        [*(s for _, s in summed), *[None] * count],
    )
    for (accum, _), ct in zip(summed, found, strict=False):
        accum.accum(ct)
    return body.logs.unflatten(found[len(summed) :]) if count else None


JVP: Final = {jit_p: ContextRule(_jit_jvp)}
LINEARIZE: Final = {jit_p: ContextRule(_jit_linearize)}
TRANSPOSE: Final = {jit_p: AccumRule(_jit_transpose)}
PARTIAL_EVAL: Final = {jit_p: ContextRule(_jit_split)}
