"""Derivatives: calls of the derived functions, which see the same axis types.

A tangent's type is its primal's; a cotangent lies outside as the cotangent type of the operand
says. Residuals stay between the two calls as they are inside: the compiler may shard them.
"""

from collections.abc import Sequence
from typing import Any, Final

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
from tans_core.zeros import Zero, is_linear_input, is_zero, zero_tangent
from tans_lax.axis_types import axes_call_p, bind, mesh_context, sharding_outside, type_outside

type Value = Any
type Params = dict[str, Any]


def _zero_tangents(body: ClosedJaxpr, params: Params, nonzero: Mask) -> list[Zero]:
    triples = zip(body.out_avals, params["out_shardings"], nonzero, strict=True)
    return [zero_tangent(type_outside(a, s)) for a, s, nz in triples if not nz]


def _call(body: ClosedJaxpr, args: Sequence[Value], params: Params, outs: Sequence[Any]) -> Any:
    return bind(body, args, params["mesh"], params["outer_mesh"], outs)


def _jvp(
    ctx: JVPContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    body, outs = params["jaxpr"], params["out_shardings"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    with mesh_context(params["mesh"]):
        both, nonzero_out = ctx.jvp_jaxpr(body, nonzero)
    args = [*primals, *partition(nonzero, tangents)[1]]
    results = _call(both, args, params, [*outs, *partition(nonzero_out, outs)[1]])
    count = len(outs)
    zeros = _zero_tangents(body, params, nonzero_out)
    return results[:count], merge(nonzero_out, zeros, results[count:])


def _linearize(
    ctx: LinearizeContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    body, outs = params["jaxpr"], params["out_shardings"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    with mesh_context(params["mesh"]):
        parts = ctx.linearize_jaxpr(body, nonzero)
    count = len(outs)
    results = _call(
        parts.primal, primals, params, [*outs, *[None] * (len(parts.primal.out_avals) - count)]
    )
    found = iter(results[count:])
    residuals = [next(found) if i is None else primals[i] for i in parts.forwards]
    args = [*residuals, *partition(nonzero, tangents)[1]]
    out_tangents = _call(parts.linear, args, params, partition(parts.nonzero_out, outs)[1])
    zeros = _zero_tangents(body, params, parts.nonzero_out)
    return results[:count], merge(parts.nonzero_out, zeros, out_tangents)


def _split(ctx: SplitContext, unknown: Mask, *args: Value, **params: Any) -> list[Value]:
    with mesh_context(params["mesh"]):
        parts = ctx.split_jaxpr(params["jaxpr"], unknown)
    known_args, unknown_args = partition(unknown, args)
    known_outs, unknown_outs = partition(parts.unknown_out, params["out_shardings"])
    count = len(known_outs)
    residual_count = len(parts.known.out_avals) - count
    results = _call(parts.known, known_args, params, known_outs + [None] * residual_count)
    rest = bind(
        parts.unknown,
        [*results[count:], *unknown_args],
        params["mesh"],
        params["outer_mesh"],
        unknown_outs,
        lambda *operands, **p: ctx.record(axes_call_p, *operands, **p),
    )
    return merge(parts.unknown_out, results[:count], rest)


def _transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Value, **params: Any
) -> list[Value]:
    linear = tuple(map(is_linear_input, operands))
    nonzero = tuple(not is_zero(ct) for ct in cts)
    with mesh_context(params["mesh"]):
        body, has_cotangent = ctx.transpose_jaxpr(params["jaxpr"], linear, nonzero)
    known, unknown = partition(linear, operands)
    outs = [
        sharding_outside(x.aval.to_cotangent(), params["outer_mesh"])
        for x, has in zip(unknown, has_cotangent, strict=True)
        if has
    ]
    found = iter(_call(body, [*known, *partition(nonzero, cts)[1]], params, outs))
    of_linear = iter([next(found) if has else None for has in has_cotangent])
    return [next(of_linear) if lin else None for lin in linear]


JVP: Final = {axes_call_p: ContextRule(_jvp)}
LINEARIZE: Final = {axes_call_p: ContextRule(_linearize)}
TRANSPOSE: Final = {axes_call_p: ContextRule(_transpose)}
PARTIAL_EVAL: Final = {axes_call_p: ContextRule(_split)}
