"""Linearisation: one pass that computes a function and records its linear part.

Primals are computed in the enclosing trace, so concrete values stay concrete and Python control
flow on them works. Tangents exist only as variables of the linear program, which a split trace
records while the derivative rules run.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, override

from tans_autodiff.body_memo import memoised_on_body
from tans_autodiff.jvp import (
    REF_MAKERS,
    FlatFun,
    Tangent,
    Value,
    as_mask,
    bind_in,
    fill_zeros,
    inside,
)
from tans_autodiff.split import SplitRowContext, SplitTrace, close_program
from tans_core import ArrayImpl, rules
from tans_core.context import Linearized, Mask
from tans_core.dce import dce_jaxpr
from tans_core.errors import NotDifferentiableError
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.manual_mode import has_manual_axes, unified
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.staging import JaxprTracer, get_traceback, trace_to_jaxpr
from tans_core.state import state, swap_trace
from tans_core.trace import Trace, Tracer
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_core.zeros import Zero, zero_tangent
from tans_lax.rows import instantiate_zeros
from tans_xla.wide_arrays import narrow

# The tables' rows by primitive; reading them is on the path of every operation.
_linearize_rules: Final = rules.linearize
_jvp_rules: Final = rules.jvp


class LinearizeTracer(Tracer):
    """A value with its tangent, which is a variable of the linear program."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: Trace, aval: AbstractValue, primal: Value, tangent: Tangent) -> None:
        self._trace = trace
        self.aval = aval
        self.primal = primal
        self.tangent = tangent

    @override
    def describe(self) -> str:
        return f"{super().describe()}{inside(self._trace)}"


class LinearizeTrace(Trace):
    """Runs derivative rules under a split trace, and what has no tangent in the parent."""

    __slots__ = ("context", "origin", "split")

    def __init__(self, parent: Trace, forward: bool = False) -> None:
        super().__init__(parent)
        self.origin: tuple[str, Any] | None = None
        self.split = SplitTrace(parent)
        self.context = LinearizeRowContext(self.split, forward)

    @override
    def process(self, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]) -> Any:
        primals: list[Value] = []
        tangents: list[Tangent] = []
        touched = mixed = False
        for x in args:
            if type(x) is LinearizeTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                touched = True
            else:
                primals.append(narrow(x) if type(x) is ArrayImpl else x)
                tangents.append(None)
                mixed = True
        if not touched and primitive not in REF_MAKERS:
            assert self.parent is not None
            return bind_in(self.parent, primitive, tuple(primals), params)
        if len(args) > 1 and has_manual_axes():
            cast = unified(primitive, args, [typeof(x) for x in args])
            if cast is not None:
                return self.process(primitive, tuple(cast), params)
        if mixed:
            fill_zeros(primals, tangents)
        rule: Any = _linearize_rules.find(primitive)
        split = self.split
        verbatim, split.verbatim = split.verbatim, rule is not None
        if rule is None:
            rule = _jvp_rules[primitive]
        source = state.source
        if source is None:
            # One traceback, that of the user's call, for all that the rule does.
            state.source = get_traceback()
        old = swap_trace(split)
        try:
            if type(rule) is ContextRule:
                outs, out_tangents = rule.rule(self.context, primals, tangents, **params)
            else:
                outs, out_tangents = rule(primals, tangents, **params)
        finally:
            swap_trace(old)
            state.source = source
            split.verbatim = verbatim
        if primitive.multiple_results:
            pairs = zip(outs, out_tangents, strict=True)
            return [self._pair(primitive, x, t) for x, t in pairs]
        return self._pair(primitive, outs, out_tangents)

    def _pair(self, primitive: Primitive, primal: Value, tangent: Tangent) -> Value:
        if type(tangent) is Zero:
            return primal
        if type(primal) is not JaxprTracer:
            return LinearizeTracer(self, typeof(primal), primal, tangent)
        if primal._trace is self.split:
            raise NotDifferentiableError(
                f"derivative rule of {primitive.name!r}: given a primal result that depends on a "
                "tangent; expected one that depends on the primal operands only. Compute it from "
                "the primals."
            )
        return LinearizeTracer(self, primal.aval, primal, tangent)

    @override
    def finish(self) -> None:
        self.alive = False
        self.split.finish()


class LinearizeRowContext(SplitRowContext):
    """What linearize rows are given.

    `forward` says that the linear program is to be run as it is, as for `linearize`; otherwise it
    is to be transposed.
    """

    __slots__ = ("forward",)

    def __init__(self, trace: SplitTrace, forward: bool) -> None:
        super().__init__(trace)
        self.forward = forward

    def linearize_jaxpr(
        self, body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
    ) -> Linearized:
        """Linearise a body; see `tans_core.context.LinearizeContext`."""
        forced = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
        return linearize_jaxpr(body, tuple(nonzero), forced, self.forward)


class Linearization(NamedTuple):
    """A function's outputs, and its linear part as recorded.

    Attributes:
      outs: primal outputs.
      tangents: per output a value of `split`, a plain value that depends on no tangent, or a
        symbolic zero.
      inputs: per argument its tangent, a value of `split`, or None where it has none.
      split: the trace that holds the linear program.
    """

    outs: list[Value]
    tangents: list[Tangent]
    inputs: list[JaxprTracer | None]
    split: SplitTrace


class open_linearization:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: make a linearize trace current.

    Yields itself; `inputs` are the tracers to call the function with.
    """

    __slots__ = ("inputs", "old", "tangents", "trace")

    def __init__(
        self, primals: Iterable[Value], nonzero: Iterable[bool], forward: bool = False
    ) -> None:
        self.trace = trace = LinearizeTrace(state.trace, forward)
        self.inputs: list[Value] = []
        self.tangents: list[JaxprTracer | None] = []
        for x, nz in zip(primals, nonzero, strict=True):
            if nz:
                aval = typeof(x)
                tangent = trace.split.new_input(aval.to_tangent())
                self.inputs.append(LinearizeTracer(trace, aval, x, tangent))
                self.tangents.append(tangent)
            else:
                self.inputs.append(x)
                self.tangents.append(None)

    def __enter__(self) -> "open_linearization":
        self.old = swap_trace(self.trace)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        swap_trace(self.old)
        self.trace.alive = False
        if kind is not None:
            self.trace.finish()

    def lower(self, x: Any) -> Any:
        """Return the primal of a tracer of this trace, anything else unchanged."""
        return x.primal if type(x) is LinearizeTracer and x._trace is self.trace else x

    def tangent(self, x: Value) -> Tangent:
        """Return the tangent of an output."""
        if type(x) is LinearizeTracer and x._trace is self.trace:
            return x.tangent
        return zero_tangent(typeof(x))

    def result(self, results: Sequence[Value]) -> Linearization:
        """Take the outputs apart."""
        return Linearization(
            [self.lower(x) for x in results],
            [self.tangent(x) for x in results],
            self.tangents,
            self.trace.split,
        )


def linearize_flat(
    fun: FlatFun, primals: Sequence[Value], nonzero: Sequence[bool], forward: bool = False
) -> Linearization:
    """Run a function of flat values and record its linear part.

    Args:
      fun: takes and returns flat lists.
      primals: arguments.
      nonzero: which arguments have a tangent.
      forward: whether the linear part is run forward rather than transposed.
    """
    with open_linearization(primals, nonzero, forward) as running:
        results = fun(*running.inputs)
    return running.result(results)


@memoised_on_body
def linearize_jaxpr(
    body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False, forward: bool = False
) -> Linearized:
    """Split a program into its primal and its linear part.

    Args:
      body: the program.
      nonzero: which inputs have a tangent.
      instantiate: which output tangents to make even when they are zero.
      forward: whether the linear part is run forward rather than transposed.
    """
    forced = as_mask(instantiate, len(body.out_avals))
    linear: ClosedJaxpr | None = None
    nonzero_out: Mask = ()
    forwards: tuple[int | None, ...] = ()

    def primal_part(*ins: Value) -> list[Value]:
        nonlocal linear, nonzero_out, forwards
        run = linearize_flat(lambda *xs: eval_closed(body, *xs), ins, nonzero, forward)
        nonzero_out = tuple(
            type(t) is not Zero or f for t, f in zip(run.tangents, forced, strict=True)
        )
        kept = [instantiate_zeros(t) for t, nz in zip(run.tangents, nonzero_out, strict=True) if nz]
        linear, residuals = close_program(run.split, kept)
        position = {id(x): i for i, x in enumerate(ins)}
        forwards = tuple(position.get(id(r)) for r in residuals)
        computed = [r for r, f in zip(residuals, forwards, strict=True) if f is None]
        return run.outs + computed

    primal = trace_to_jaxpr(primal_part, body.in_avals, body.jaxpr.debug_info)
    primal, _ = dce_jaxpr(primal, [True] * len(primal.out_avals), instantiate=True)
    assert linear is not None
    return Linearized(primal, linear, nonzero_out, forwards)
