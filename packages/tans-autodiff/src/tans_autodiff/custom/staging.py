"""Recording of custom calls: the body is traced, the rule stays a function until it is needed."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.captured_context import CapturedContext
from tans_autodiff.custom import custom_jvp_call_p, custom_vjp_call_p
from tans_autodiff.custom.calls import UnderContext
from tans_autodiff.custom.pulls import PullAfter
from tans_autodiff.jvp import has_tangent
from tans_autodiff.results import tangent_result
from tans_core.context import merge
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, Var, eval_closed
from tans_core.staging import JaxprTrace, lift_tracer_consts, trace_to_jaxpr
from tans_core.values import typeof
from tans_core.zeros import Zero, zero_tangent

type Value = Any


def _stage_jvp(trace: JaxprTrace, *args: Value, call_jaxpr: Any, jvp: Any, **params: Any) -> Any:
    if isinstance(call_jaxpr, ClosedJaxpr):
        params |= {"call_jaxpr": call_jaxpr, "jvp": jvp}
        return trace.record(custom_jvp_call_p, args, params)
    closed, captured = _record_body(call_jaxpr, args)
    rule = UnderContext(CapturedContext(), jvp)
    if captured:
        staged = StagedJVP(jvp, args, len(captured))
        captured += staged.captured
        rule, closed = staged, _ignoring(closed, len(captured) - len(staged.captured), staged)
    params |= {"call_jaxpr": closed, "jvp": rule, "captured": len(captured)}
    return trace.record(custom_jvp_call_p, [*captured, *args], params)


def _stage_vjp(trace: JaxprTrace, *args: Value, call_jaxpr: Any, rule: Any, **params: Any) -> Any:
    if isinstance(call_jaxpr, ClosedJaxpr):
        params |= {"call_jaxpr": call_jaxpr, "rule": rule}
        return trace.record(custom_vjp_call_p, args, params)
    closed, captured = _record_body(call_jaxpr, args)
    flat_rule: Any = UnderContext(CapturedContext(), rule)
    if captured:
        staged = StagedVJP(rule, args, len(captured))
        captured += staged.captured
        flat_rule, closed = staged, _ignoring(closed, len(captured) - len(staged.captured), staged)
    params |= {"call_jaxpr": closed, "rule": flat_rule, "captured": len(captured)}
    return trace.record(custom_vjp_call_p, [*captured, *args], params)


def _record_body(fun: Any, args: Sequence[Value]) -> tuple[ClosedJaxpr, list[Value]]:
    return lift_tracer_consts(trace_to_jaxpr(fun, [typeof(x) for x in args]))


def _ignoring(closed: ClosedJaxpr, own: int, staged: "StagedJVP | StagedVJP") -> ClosedJaxpr:
    """Give the body the inputs that only the rule captured, behind its own captured ones."""
    extra = [Var(typeof(x)) for x in staged.captured]
    jaxpr = closed.jaxpr
    invars = [*jaxpr.invars[:own], *extra, *jaxpr.invars[own:]]
    return ClosedJaxpr(
        Jaxpr(jaxpr.constvars, invars, jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info),
        closed.consts,
    )


class StagedJVP:
    """A flat JVP rule that was recorded because it captures tracers.

    Its primals are ``(*captured by the body, *captured by the rule, *arguments)``.
    """

    __slots__ = ("_closed", "_count", "_nonzero_out", "_skip", "captured")

    def __init__(self, jvp: Any, args: Sequence[Value], skip: int) -> None:
        avals = [typeof(x) for x in args]
        inexact = list(map(has_tangent, avals))
        self._skip = skip
        self._nonzero_out: tuple[bool, ...] = ()

        def flat(*values: Value) -> list[Value]:
            given = iter(values[len(avals) :])
            tangents = [
                next(given) if m else zero_tangent(a) for m, a in zip(inexact, avals, strict=True)
            ]
            outs, out_tangents = jvp(values[: len(avals)], tangents)
            self._nonzero_out = tuple(type(t) is not Zero for t in out_tangents)
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        tangent_avals = [a.to_tangent() for a, m in zip(avals, inexact, strict=True) if m]
        closed = trace_to_jaxpr(flat, [*avals, *tangent_avals])
        self._closed, self.captured = lift_tracer_consts(closed)
        self._count = len(self._nonzero_out)

    def __call__(self, primals: Sequence[Value], tangents: Sequence[Value]) -> Any:
        """Run the rule."""
        lead = self._skip + len(self.captured)
        given = [
            tangent_result(None, typeof(x)) if type(t) is Zero else t
            for x, t in zip(primals[lead:], tangents[lead:], strict=True)
            if has_tangent(typeof(x))
        ]
        results = eval_closed(self._closed, *primals[self._skip :], *given)
        outs = results[: self._count]
        zeros = [
            zero_tangent(typeof(x)) for x, nz in zip(outs, self._nonzero_out, strict=True) if not nz
        ]
        return outs, merge(self._nonzero_out, zeros, results[self._count :])


class StagedVJP:
    """A flat VJP rule whose forward part was recorded because it captures tracers.

    Its primals are ``(*captured by the body, *captured by the rule, *arguments)``.
    """

    __slots__ = ("_closed", "_count", "_pull", "_skip", "captured")

    def __init__(self, rule: Any, args: Sequence[Value], skip: int) -> None:
        avals = [typeof(x) for x in args]
        nonzero = tuple(map(has_tangent, avals))
        self._skip = skip
        self._count = 0
        self._pull: Any = None

        def flat(*primals: Value) -> list[Value]:
            outs, residuals, self._pull = rule(primals, nonzero)
            self._count = len(outs)
            return [*outs, *residuals]

        self._closed, self.captured = lift_tracer_consts(trace_to_jaxpr(flat, avals))

    def __call__(self, primals: Sequence[Value], nonzero: Sequence[bool]) -> Any:
        """Run the forward part."""
        results = eval_closed(self._closed, *primals[self._skip :])
        lead = primals[: self._skip + len(self.captured)]
        pull = PullAfter([typeof(x) for x in lead], self._pull)
        return results[: self._count], results[self._count :], pull


STAGING: Final = {custom_jvp_call_p: _stage_jvp, custom_vjp_call_p: _stage_vjp}
