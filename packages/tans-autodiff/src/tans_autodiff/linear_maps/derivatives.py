"""Derivatives of linear maps: the same map of the tangents; the transposes are those given.

For a solve, ``A x = b`` gives ``A x_dot = b_dot - A_dot x``: one more solve, whatever the method.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.linear_maps import custom_linear_solve_p, linear_call_p
from tans_core.context import JVPContext, TransposeContext, merge
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.rules import ContextRule
from tans_core.staging import trace_to_jaxpr
from tans_core.values import typeof
from tans_core.zeros import LinearInput, Zero, zero_tangent
from tans_lax.elementwise.arithmetic import neg
from tans_lax.rows import add_tangents, instantiate_zeros, zeros_like_aval

type Value = Any


def _residual_part(
    ctx: JVPContext, body: ClosedJaxpr, args: Sequence[Value], tangents: Sequence[Value]
) -> list[Value]:
    """Return the tangents of a program's outputs when only its leading inputs move."""
    moving = tuple(type(t) is not Zero for t in tangents)
    if not any(moving):
        return [zero_tangent(aval) for aval in body.out_avals]
    nonzero = moving + (False,) * (len(args) - len(moving))
    jvp_body, nonzero_out = ctx.jvp_jaxpr(body, nonzero)
    given = [t for t in tangents if type(t) is not Zero]
    results = eval_closed(jvp_body, *args, *given)[len(body.out_avals) :]
    zeros = [zero_tangent(a) for a, nz in zip(body.out_avals, nonzero_out, strict=True) if not nz]
    return merge(nonzero_out, zeros, results)


def _linear_call_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    num_res: int,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    params |= {"jaxpr": jaxpr, "num_res": num_res}
    outs = linear_call_p.bind(*primals, **params)
    found = _residual_part(ctx, jaxpr, primals, tangents[:num_res])
    linear = tangents[num_res:]
    if any(type(t) is not Zero for t in linear):
        given = [instantiate_zeros(t) for t in linear]
        moved = linear_call_p.bind(*primals[:num_res], *given, **params)
        found = [add_tangents(a, b) for a, b in zip(found, moved, strict=True)]
    return outs, found


def _linear_call_transpose(
    cts: Sequence[Value],
    *operands: Value,
    jaxpr: ClosedJaxpr,
    transpose: ClosedJaxpr,
    num_res: int,
) -> list[Value]:
    if any(type(x) is LinearInput for x in operands[:num_res]):
        raise NotImplementedError(
            message(
                "linear_call",
                "a transpose with respect to residual_args",
                "one with respect to linear_args, which fun_transpose is for",
                "Pass what the function is linear in as linear_args.",
            )
        )
    found = linear_call_p.bind(
        *operands[:num_res],
        *map(instantiate_zeros, cts),
        jaxpr=transpose,
        transpose=jaxpr,
        num_res=num_res,
    )
    return [None] * num_res + found


def _solve_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    matvec: ClosedJaxpr,
    lengths: tuple[int, int, int],
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    params |= {"matvec": matvec, "lengths": lengths}
    first, start = lengths[0], sum(lengths)
    outs = custom_linear_solve_p.bind(*primals, **params)
    x = outs[: len(primals) - start]
    moved = _residual_part(ctx, matvec, [*primals[:first], *x], tangents[:first])
    rhs = [
        b_dot if type(r) is Zero else add_tangents(b_dot, neg(r))
        for b_dot, r in zip(tangents[start:], moved, strict=True)
    ]
    zeros: list[Value] = [zero_tangent(typeof(o)) for o in outs]
    if all(type(r) is Zero for r in rhs):
        return outs, zeros
    solved = custom_linear_solve_p.bind(*primals[:start], *map(instantiate_zeros, rhs), **params)
    return outs, solved[: len(x)] + zeros[len(x) :]


def _solve_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    *operands: Value,
    matvec: ClosedJaxpr,
    solve: ClosedJaxpr,
    transpose_solve: ClosedJaxpr | None,
    lengths: tuple[int, int, int],
) -> list[Value]:
    if transpose_solve is None:
        raise TypeError(
            message(
                "custom_linear_solve",
                "a reverse-mode derivative and no transpose_solve",
                "a solver of the transposed system",
                "Pass transpose_solve, or symmetric=True when the map equals its transpose.",
            )
        )
    m, s, t = lengths
    captured = operands[: m + s + t]
    count = len(operands) - len(captured)
    found = custom_linear_solve_p.bind(
        *captured[:m],
        *captured[m + s :],
        *captured[m : m + s],
        *map(instantiate_zeros, cts[:count]),
        matvec=_transposed(ctx, matvec, m),
        solve=transpose_solve,
        transpose_solve=solve,
        lengths=(m, t, s),
    )
    return [None] * len(captured) + found[:count]


def _transposed(ctx: TransposeContext, matvec: ClosedJaxpr, captured: int) -> ClosedJaxpr:
    """Return the transposed map, with an output for every input."""
    count = len(matvec.in_avals) - captured
    linear = (False,) * captured + (True,) * count
    body, found = ctx.transpose_jaxpr(matvec, linear, (True,) * len(matvec.out_avals))
    if all(found):
        return body
    avals = [aval.to_cotangent() for aval in matvec.in_avals[captured:]]

    def whole(*args: Value) -> list[Value]:
        zeros = [zeros_like_aval(a) for a, f in zip(avals, found, strict=True) if not f]
        return merge(found, zeros, eval_closed(body, *args))

    return trace_to_jaxpr(whole, body.in_avals)


JVP: Final = {
    linear_call_p: ContextRule(_linear_call_jvp),
    custom_linear_solve_p: ContextRule(_solve_jvp),
}
TRANSPOSE: Final = {
    linear_call_p: _linear_call_transpose,
    custom_linear_solve_p: ContextRule(_solve_transpose),
}
