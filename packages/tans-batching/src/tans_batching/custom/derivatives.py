"""Derivatives of a call with a batching rule of the user's own.

The primal result stays such a call, so that batching it later uses the rule. The tangents are
those of its body, batched as usual: the rule computes the same function, so they agree.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_batching.custom import custom_vmap_call_p
from tans_core import (
    ClosedJaxpr,
    ContextRule,
    JVPContext,
    Primitive,
    TransposeContext,
    Zero,
    eval_closed,
    is_linear_input,
    zero_tangent,
)

type Value = Any


def _call_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    call: ClosedJaxpr,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    outs = custom_vmap_call_p.bind(*primals, call=call, **params)
    nonzero = tuple(type(t) is not Zero for t in tangents)
    body, nonzero_out = ctx.jvp_jaxpr(call, nonzero)
    given = [t for t, nz in zip(tangents, nonzero, strict=True) if nz]
    found = iter(eval_closed(body, *primals, *given)[len(outs) :])
    out_tangents = [
        next(found) if nz else zero_tangent(aval)
        for nz, aval in zip(nonzero_out, call.out_avals, strict=True)
    ]
    return outs, out_tangents


def _call_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Value, call: ClosedJaxpr, **params: Any
) -> list[Value | None]:
    del params
    linear = tuple(is_linear_input(x) for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    body, nonzero_in = ctx.transpose_jaxpr(call, linear, nonzero)
    known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
    given = [ct for ct, nz in zip(cts, nonzero, strict=True) if nz]
    found = iter(eval_closed(body, *known, *given))
    mask = iter(nonzero_in)
    return [
        (next(found) if next(mask) else Zero(x.aval.to_cotangent())) if is_linear else None
        for x, is_linear in zip(operands, linear, strict=True)
    ]


JVP: Final[dict[Primitive, ContextRule[Any]]] = {
    custom_vmap_call_p: ContextRule(_call_jvp),
}

TRANSPOSE: Final[dict[Primitive, ContextRule[Any]]] = {
    custom_vmap_call_p: ContextRule(_call_transpose),
}
