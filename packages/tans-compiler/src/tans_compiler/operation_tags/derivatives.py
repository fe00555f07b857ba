"""Derivatives of tagged calls: tagged calls of the derived programs. Tagged values lose their tags.

Forward mode is one call with the tags of the function. What reverse mode derives has the tags that
`ad_metadata` asks for, and keeps them under further derivatives.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_compiler.operation_tags import Tags, xla_metadata_call_p, xla_metadata_value_p
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
from tans_core.zeros import is_linear_input, is_zero, zero_tangent
from tans_xla.jit.repeated_outputs import distinct_outputs

type Value = Any
type Params = dict[str, Any]


def bind_body(body: ClosedJaxpr, args: Sequence[Value], params: Params) -> list[Value]:
    """Bind a tagged call of a derived body; its constants become leading operands."""
    if not body.out_avals and not body.effects:
        return []
    body, consts = hoist_consts(body)
    return xla_metadata_call_p.bind(*consts, *args, **params | {"jaxpr": body})


def _derived(params: Params) -> Params:
    """Return the params of what reverse mode derives."""
    wanted: str | Tags = params["ad_metadata"]
    if wanted == "same":
        return params
    return params | {"ad_metadata": "same", "xla_metadata": () if wanted == "drop" else wanted}


def _tangents(body: ClosedJaxpr, nonzero: Mask, found: Sequence[Value]) -> list[Value]:
    zeros = [zero_tangent(a) for a, nz in zip(body.out_avals, nonzero, strict=True) if not nz]
    return merge(nonzero, zeros, found)


def _call_jvp(
    ctx: JVPContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    nonzero = tuple(not is_zero(t) for t in tangents)
    body, nonzero_out = ctx.jvp_jaxpr(params["jaxpr"], nonzero)
    results = bind_body(body, [*primals, *partition(nonzero, tangents)[1]], params)
    count = len(params["jaxpr"].out_avals)
    return results[:count], _tangents(params["jaxpr"], nonzero_out, results[count:])


def _call_linearize(
    ctx: LinearizeContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    nonzero = tuple(not is_zero(t) for t in tangents)
    parts = ctx.linearize_jaxpr(params["jaxpr"], nonzero)
    count = len(params["jaxpr"].out_avals)
    primal = distinct_outputs(parts.primal)
    small = bind_body(primal.body, primals, params)
    results = [small[i] for i in primal.sources]
    found = iter(results[count:])
    residuals = [next(found) if i is None else primals[i] for i in parts.forwards]
    operands = [*residuals, *partition(nonzero, tangents)[1]]
    out_tangents = bind_body(parts.linear, operands, _derived(params))
    return results[:count], _tangents(params["jaxpr"], parts.nonzero_out, out_tangents)


def _call_split(ctx: SplitContext, unknown: Mask, *args: Value, **params: Any) -> list[Value]:
    parts = ctx.split_jaxpr(params["jaxpr"], unknown)
    known_args, unknown_args = partition(unknown, args)
    results = bind_body(parts.known, known_args, params)
    count = parts.unknown_out.count(False)
    rest: list[Value] = []
    if parts.unknown.out_avals or parts.unknown.effects:
        body, consts = hoist_consts(parts.unknown)
        operands = [*consts, *results[count:], *unknown_args]
        rest = ctx.record(xla_metadata_call_p, *operands, **params | {"jaxpr": body})
    return merge(parts.unknown_out, results[:count], rest)


def _call_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Value, **params: Any
) -> list[Value]:
    linear = tuple(map(is_linear_input, operands))
    nonzero = tuple(not is_zero(ct) for ct in cts)
    body, has_cotangent = ctx.transpose_jaxpr(params["jaxpr"], linear, nonzero)
    known, _ = partition(linear, operands)
    found = iter(bind_body(body, [*known, *partition(nonzero, cts)[1]], _derived(params)))
    of_linear = iter([next(found) if has else None for has in has_cotangent])
    return [next(of_linear) if lin else None for lin in linear]


def _value_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[Value, Value]:
    return xla_metadata_value_p.bind(*primals, **params), tangents[0]


def _value_transpose(ct: Value, x: Value, **_: Any) -> tuple[Value]:
    del x
    return (ct,)


JVP: Final = {
    xla_metadata_call_p: ContextRule(_call_jvp),
    xla_metadata_value_p: _value_jvp,
}
LINEARIZE: Final = {xla_metadata_call_p: ContextRule(_call_linearize)}
TRANSPOSE: Final = {
    xla_metadata_call_p: ContextRule(_call_transpose),
    xla_metadata_value_p: _value_transpose,
}
PARTIAL_EVAL: Final = {xla_metadata_call_p: ContextRule(_call_split)}
