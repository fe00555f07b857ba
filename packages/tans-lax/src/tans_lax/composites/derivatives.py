"""Derivatives of named operations: those of the decomposition, without a name."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import ClosedJaxpr, Primitive
from tans_core.context import JVPContext, TransposeContext, merge
from tans_core.jaxpr import eval_closed
from tans_core.rules import ContextRule
from tans_core.zeros import is_linear_input, is_zero, zero_tangent
from tans_lax.composites import composite_p
from tans_lax.composites.platforms import platform_index_p
from tans_lax.rows import not_linear, zero_derivative

type Value = Any


def _composite_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    call_jaxpr: ClosedJaxpr,
    **_: Any,
) -> tuple[list[Value], list[Value]]:
    nonzero = tuple(not is_zero(t) for t in tangents)
    body, nonzero_out = ctx.jvp_jaxpr(call_jaxpr, nonzero)
    dots = [t for t in tangents if not is_zero(t)]
    outs = eval_closed(body, *primals, *dots)
    count = len(nonzero_out)
    zeros = [
        zero_tangent(a) for a, nz in zip(call_jaxpr.out_avals, nonzero_out, strict=True) if not nz
    ]
    return outs[:count], merge(nonzero_out, zeros, outs[count:])


def _composite_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    *operands: Value,
    call_jaxpr: ClosedJaxpr,
    **_: Any,
) -> list[Value]:
    linear = tuple(map(is_linear_input, operands))
    nonzero = tuple(not is_zero(ct) for ct in cts)
    body, found = ctx.transpose_jaxpr(call_jaxpr, linear, nonzero)
    known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
    given = [ct for ct in cts if not is_zero(ct)]
    outs = iter(eval_closed(body, *known, *given))
    of_linear = iter([next(outs) if has else None for has in found])
    return [next(of_linear) if is_linear else None for is_linear in linear]


JVP: Final[dict[Primitive, Any]] = {
    composite_p: ContextRule(_composite_jvp),
    platform_index_p: zero_derivative(platform_index_p),
}

TRANSPOSE: Final[dict[Primitive, Any]] = {
    composite_p: ContextRule(_composite_transpose),
    platform_index_p: not_linear,
}
