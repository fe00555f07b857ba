"""The split trace: operations that touch an unknown are recorded, all others go to the parent.

Linearisation runs derivative rules under it with tangents as the unknowns, so that a rule written
for forward mode yields both the primal computation and the linear program, without evaluating
anything twice. Values that the recorded program reads from outside are its residuals.
"""

from collections.abc import Sequence
from typing import Any, Final, override

import numpy as np

from tans_autodiff.body_memo import memoised_on_body
from tans_autodiff.jvp import JVPRowContext, Value, as_mask, bind_in
from tans_core import dtypes, rules
from tans_core.context import Mask, Split, merge
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Atom, ClosedJaxpr, Var, eval_closed
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.staging import (
    JaxprTrace,
    JaxprTracer,
    hoist_consts,
    lift_tracer_consts,
    trace_to_jaxpr,
)
from tans_core.state import state, swap_trace
from tans_core.trace import Trace

_SCALARS: Final = (*dtypes.PYTHON_SCALARS, np.generic)


class SplitTrace(JaxprTrace):
    """Records the operations that touch one of its values; the recorded ones are its values.

    `verbatim` is set while a linearize row runs: such a row has split its bodies itself, so that
    call-like equations are recorded as they are. `holds_constants` says that some equations have no
    unknown operand.
    """

    __slots__ = ("_remade", "_remakes", "holds_constants", "verbatim")

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent
        self.verbatim = False
        self.holds_constants = False
        self._remakes: dict[int, tuple[Any, ...]] = {}
        self._remade: dict[int, Var] = {}

    @override
    def process(self, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]) -> Any:
        for x in args:
            if type(x) is JaxprTracer and x._trace is self:
                break
        else:
            parent: Any = self.parent
            if self.verbatim and all(isinstance(x, _SCALARS) for x in args):
                out = bind_in(parent, primitive, args, params)
                self._remakes[id(out)] = out, primitive, args, params
                return out
            if type(parent) is JaxprTrace and not primitive.custom_staging:
                return parent.record(primitive, args, params)
            return bind_in(parent, primitive, args, params)
        if (primitive.call_like and not self.verbatim) or primitive.custom_staging:
            rule = rules.partial_eval.find(primitive)
            if rule is not None:
                return self._split_call(rule, primitive, args, params)
        if primitive.custom_staging:
            return super().process(primitive, args, params)
        return self.record(primitive, args, params)

    @override
    def lift(self, x: Value) -> Atom:
        """Return the atom for a value; zeros that a linearize row made are made anew, not saved."""
        remake = self._remakes.get(id(x)) if self._remakes else None
        if remake is None or remake[1].multiple_results:
            return super().lift(x)
        var = self._remade.get(id(x))
        if var is None:
            self.holds_constants = True
            var = self._remade[id(x)] = self.record(*remake[1:]).atom
        return var

    def owns(self, x: Value) -> bool:
        """Whether `x` is a value of the recorded program."""
        return type(x) is JaxprTracer and x._trace is self

    def _split_call(
        self, rule: Any, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]
    ) -> Any:
        unknown = tuple(self.owns(x) for x in args)
        if all(unknown) and not primitive.custom_staging:
            return self.record(primitive, args, params)
        rule = rule.rule if type(rule) is ContextRule else rule
        old = swap_trace(self)
        try:
            return rule(SplitRowContext(self), unknown, *args, **params)
        finally:
            swap_trace(old)


class SplitRowContext(JVPRowContext):
    """What partial-evaluation rows are given."""

    __slots__ = ("trace",)

    def __init__(self, trace: SplitTrace) -> None:
        self.trace = trace

    def split_jaxpr(
        self, body: ClosedJaxpr, unknown: Mask, instantiate: bool | Mask = False
    ) -> Split:
        """Split a body; see `tans_core.context.SplitContext`."""
        forced = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
        return split_jaxpr(body, tuple(unknown), forced)

    def record(self, primitive: Primitive, *args: Value, **params: Any) -> Any:
        """Record one equation in the unknown program."""
        return self.trace.record(primitive, args, params)

    def is_unknown(self, x: Value) -> bool:
        """Whether `x` is a value of the unknown program."""
        return self.trace.owns(x)


@memoised_on_body
def split_jaxpr(body: ClosedJaxpr, unknown: Mask, instantiate: bool | Mask = False) -> Split:
    """Split a program into the part that needs no unknown input, and the rest.

    Args:
      body: the program.
      unknown: which inputs are unknown.
      instantiate: which outputs to make unknown even when they are known.
    """
    forced = as_mask(instantiate, len(body.out_avals))
    rest: ClosedJaxpr | None = None
    unknown_out: Mask = ()

    def known_part(*known_ins: Value) -> list[Value]:
        nonlocal rest, unknown_out
        trace = SplitTrace(state.trace)
        unknown_ins = [
            trace.new_input(aval) for aval, u in zip(body.in_avals, unknown, strict=True) if u
        ]
        outs = _run_split(trace, body, merge(unknown, known_ins, unknown_ins))
        unknown_out = tuple(trace.owns(x) or f for x, f in zip(outs, forced, strict=True))
        rest, residuals = close_program(
            trace, [x for x, u in zip(outs, unknown_out, strict=True) if u]
        )
        return [x for x, u in zip(outs, unknown_out, strict=True) if not u] + residuals

    known_avals = [aval for aval, u in zip(body.in_avals, unknown, strict=True) if not u]
    known = trace_to_jaxpr(known_part, known_avals, body.jaxpr.debug_info)
    assert rest is not None
    return Split(known, rest, unknown_out)


def _run_split(trace: SplitTrace, body: ClosedJaxpr, ins: Sequence[Value]) -> list[Value]:
    old = swap_trace(trace)
    try:
        return eval_closed(body, *ins)
    finally:
        swap_trace(old)


def close_program(
    trace: SplitTrace, outs: Sequence[Value], *, concrete: bool = False
) -> tuple[ClosedJaxpr, list[Value]]:
    """Finish a split trace.

    Args:
      trace: the trace; it is over afterwards.
      outs: outputs of the recorded program; may also be values of the parent.
      concrete: whether concrete arrays are residuals too; otherwise they stay constants.

    Returns:
      The recorded program without its dead part, ``(*residuals, *inputs) -> outs``, and the
      residuals' values.
    """
    closed = trace.to_jaxpr(outs)
    closed, _ = dce_jaxpr(closed, [True] * len(outs), instantiate=True)
    return hoist_consts(closed) if concrete else lift_tracer_consts(closed)
