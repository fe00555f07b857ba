"""Derivatives of custom calls: the rules that they carry."""

import inspect
from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_autodiff.custom.calls import VJPCall, apply_body, rule_name
from tans_autodiff.custom.optimized import forward_operands
from tans_autodiff.custom.pulls import AccumPull, Logged
from tans_autodiff.jvp import has_tangent
from tans_core.accumulators import AccumRule
from tans_core.context import JVPContext, TransposeContext, merge
from tans_core.errors import UnexpectedTracerError, message
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_core.zeros import LinearInput, Zero, zero_tangent
from tans_lax.rows import not_linear

type Value = Any


def no_forward_mode(name: str) -> TypeError:
    """Return the error for forward mode over a function that has a reverse rule only."""
    return TypeError(
        message(
            f"function {name}",
            "forward-mode differentiation of it",
            "reverse mode, the only one that a custom_vjp rule describes",
            "Use grad or vjp, or give the function a custom_jvp rule.",
        )
    )


def check_captured(name: str, tangents: Sequence[Value]) -> None:
    """Raise when a value that a custom function captured is being differentiated."""
    for i, t in enumerate(tangents):
        if type(t) is not Zero:
            raise UnexpectedTracerError(
                message(
                    f"function {name}",
                    f"differentiation with respect to captured value {i}, of type "
                    f"{t.aval.str_short(False)}",
                    "differentiation with respect to arguments only, which the custom rule is for",
                    "Pass the captured value to the function as an argument.",
                )
            )


def _custom_jvp_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    name: str,
    jvp: Any,
    captured: int,
    **_: Any,
) -> Any:
    check_captured(name, tangents[:captured])
    return jvp(primals, tangents)


def _custom_vjp_linearize(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    name: str,
    rule: Any,
    captured: int,
    call_jaxpr: Any,
    **_: Any,
) -> Any:
    check_captured(name, tangents[:captured])
    nonzero = tuple(type(t) is not Zero for t in tangents)
    call = getattr(call_jaxpr, "__self__", None)
    body = call.recorded(primals) if isinstance(call, VJPCall) else call_jaxpr
    outs, residuals, pull = rule(primals, nonzero)
    avals = [typeof(x) for x in outs]
    if isinstance(body, ClosedJaxpr):
        _check_outputs(name, rule, avals, body.out_avals)
    if isinstance(call, VJPCall):
        call.compared.add(call.in_tree)
    inexact = tuple(map(has_tangent, avals))
    found = custom_lin_p.bind(
        *residuals,
        *[t for t in tangents if type(t) is not Zero],
        name=name,
        pull=pull,
        num_residuals=len(residuals),
        in_nonzero=nonzero,
        out_avals=tuple(a.to_tangent() for a, m in zip(avals, inexact, strict=True) if m),
        out_inexact=inexact,
    )
    zeros = [zero_tangent(x) for x, m in zip(avals, inexact, strict=True) if not m]
    return outs, merge(inexact, zeros, found)


def _check_outputs(name: str, rule: Any, given: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise when a forward rule returned other types than the function does."""
    shown = rule_name(rule) if inspect.ismethod(rule) else repr(rule)
    for i, (own, wanted) in enumerate(zip(given, expected, strict=True)):
        if any(getattr(own, n, None) != getattr(wanted, n, None) for n in ("shape", "dtype")):
            raise TypeError(
                message(
                    f"custom VJP forward rule {shown} for function {name}",
                    f"a primal output {i} of type {own.str_short(False)}",
                    f"that of the function's output, {wanted.str_short(False)}",
                    "Return the function's own output first.",
                )
            )


def _custom_lin_jvp(*_: Any, name: str, **__: Any) -> Any:
    raise no_forward_mode(name)


def _custom_lin_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    *operands: Any,
    pull: Any,
    num_residuals: int,
    in_nonzero: tuple[bool, ...],
    out_inexact: tuple[bool, ...],
    **_: Any,
) -> dict[Any, Any] | None:
    zeros = [Zero(_FLOAT0_SCALAR) for m in out_inexact if not m]
    residuals, accums = operands[:num_residuals], operands[num_residuals:]
    every_ct = merge(out_inexact, zeros, cts)
    if isinstance(pull, AccumPull):
        nobody = [None] * in_nonzero.count(False)
        return pull.into(residuals, every_ct, merge(in_nonzero, nobody, accums))
    found = pull(residuals, every_ct)
    logs = None
    if type(found) is Logged:
        found, logs = found
    used = [ct for ct, nz in zip(found, in_nonzero, strict=True) if nz]
    for accum, ct in zip(accums, used, strict=True):
        accum.accum(ct)
    return logs


_FLOAT0_SCALAR: Final = typeof(0).to_cotangent()


def transpose_in_place(
    ctx: TransposeContext, cts: Sequence[Value], operands: Sequence[Value], body: ClosedJaxpr
) -> list[Value]:
    """Transpose an equation by running the transposed body here."""
    linear = tuple(type(x) is LinearInput for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    transposed, has_cotangent = ctx.transpose_jaxpr(body, linear, nonzero)
    known = [x for x in operands if type(x) is not LinearInput]
    given = [ct for ct in cts if type(ct) is not Zero]
    found = iter(eval_closed(transposed, *known, *given))
    of_linear = iter([next(found) if has else None for has in has_cotangent])
    return [next(of_linear) if lin else None for lin in linear]


def _call_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Value, call_jaxpr: Any, **_: Any
) -> list[Value]:
    return transpose_in_place(ctx, cts, operands, call_jaxpr)


def _call_split(ctx: Any, unknown: Any, *args: Value, call_jaxpr: Any, **_: Any) -> Any:
    # The rule is for differentiation, which has happened already: run the function.
    return apply_body(call_jaxpr, args)


def _remat_opt_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    num_captured: tuple[int, int],
    **_: Any,
) -> tuple[list[Value], list[Value]]:
    # A second derivative reads the residuals: the forward program is differentiated.
    ins = forward_operands(primals, num_captured)
    moved = forward_operands(tangents, num_captured)
    body, nonzero_out = ctx.jvp_jaxpr(jaxpr, tuple(type(t) is not Zero for t in moved))
    results = eval_closed(body, *ins, *(t for t in moved if type(t) is not Zero))
    count = len(jaxpr.out_avals)
    zeros = [zero_tangent(a) for a, nz in zip(jaxpr.out_avals, nonzero_out, strict=True) if not nz]
    return results[:count], merge(nonzero_out, zeros, results[count:])


JVP: Final = {
    custom_jvp_call_p: _custom_jvp_jvp,
    custom_vjp_call_p: _custom_vjp_linearize,
    custom_lin_p: _custom_lin_jvp,
    remat_opt_p: ContextRule(_remat_opt_jvp),
}
LINEARIZE: Final = {custom_vjp_call_p: _custom_vjp_linearize}
TRANSPOSE: Final = {
    custom_jvp_call_p: ContextRule(_call_transpose),
    custom_vjp_call_p: ContextRule(_call_transpose),
    custom_lin_p: AccumRule(_custom_lin_transpose),
    remat_opt_p: not_linear,
}
PARTIAL_EVAL: Final = {
    custom_jvp_call_p: ContextRule(_call_split),
    custom_vjp_call_p: ContextRule(_call_split),
}
