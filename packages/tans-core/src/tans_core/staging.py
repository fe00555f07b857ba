"""Recording programs: `JaxprTrace` writes an equation for every bind, even of constants.

A recording trace has no parent. A value from outside (array, tracer of an enclosing trace) becomes
a captured constant, which the caller lifts to an operand of the call it builds.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, override
from weakref import ref

import numpy as np

from tans_core import rules
from tans_core._jaxlib import Array, ArrayImpl
from tans_core._jaxlib import get_traceback as get_traceback
from tans_core.cache import register_cache
from tans_core.config import abstract_mesh, check_tracer_leaks, xla_metadata
from tans_core.debug_info import DebugInfo
from tans_core.errors import UnexpectedTracerError
from tans_core.explicit_mode import apply_sharding, is_involved
from tans_core.hi_types import check_part_of, is_traced
from tans_core.jaxpr import (
    NO_EFFECTS,
    Atom,
    ClosedJaxpr,
    Effects,
    Eqn,
    Jaxpr,
    Literal,
    TypedOp,
    Var,
    eval_closed,
)
from tans_core.leaks import report_leaks
from tans_core.manual_mode import makes_states, unified, varying_types
from tans_core.primitive import Primitive, new_key, param_types, unhashable_params
from tans_core.refs import RefCell, is_ref_type
from tans_core.state import set_current_trace, state
from tans_core.trace import Trace, Tracer
from tans_core.types import AbstractValue
from tans_core.values import check_fits, typeof

_MEMO: Final[dict[Any, TypedOp]] = {}
_MEMO_LIMIT: Final = 1 << 15
_PYTHON_SCALARS: Final = frozenset((bool, int, float, complex))
# Called with each new operation; while there are any, types are inferred anew each time.
op_checks: Final[list[Callable[[TypedOp], None]]] = []


def clear_type_memo() -> None:
    """Forget all inferred types."""
    _MEMO.clear()


register_cache(clear_type_memo)


def infer(
    primitive: Primitive, in_avals: tuple[AbstractValue, ...], params: dict[str, Any]
) -> TypedOp:
    """Run the type rule, then the sharding rule when a sharding is involved."""
    if not primitive.takes_refs and any(map(is_ref_type, in_avals)):
        raise _ref_operand(primitive, in_avals)
    result = rules.types[primitive](*in_avals, **params)
    effects: Effects = NO_EFFECTS
    if type(result) is rules.Typed:
        result, effects = result
    outs = tuple(result) if primitive.multiple_results else (result,)
    if is_involved(in_avals, params) or makes_states(primitive):
        outs = apply_sharding(primitive, in_avals, outs, params)
    if not primitive.call_like:
        outs = varying_types(primitive, in_avals, outs, params)
    op = TypedOp(primitive, in_avals, params, outs, effects)
    for check in op_checks:
        check(op)
    return op


def _ref_operand(primitive: Primitive, in_avals: Sequence[AbstractValue]) -> TypeError:
    i = next(i for i, a in enumerate(in_avals) if is_ref_type(a))
    return TypeError(
        f"{primitive.name}: operand {i} is a ref of type {in_avals[i].str_short(False)}; expected "
        "an array. Read the value first: write ref[...] instead of ref."
    )


class JaxprTracer(Tracer):
    """A value of a program that is being recorded."""

    __slots__ = ("atom", "aval")

    def __init__(self, trace: Trace, aval: AbstractValue, var: Var) -> None:
        self._trace = trace
        self.aval = aval
        self.atom = var

    @override
    def describe(self) -> str:
        return f"traced value of type {self.aval.str_short()}{self._trace.origin(self)}"

    @override
    def __repr__(self) -> str:
        return f"JitTracer({self.aval.str_short()})"


class JaxprTrace(Trace):
    """Records every bind as an equation."""

    __slots__ = ("constants", "debug_info", "effects", "eqns", "invars")

    def __init__(self, debug_info: DebugInfo | None = None) -> None:
        super().__init__()
        self.debug_info = debug_info
        self.eqns: list[Eqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.effects: Effects = NO_EFFECTS

    def new_input(self, aval: AbstractValue) -> JaxprTracer:
        """Add an input and return its tracer."""
        var = Var(aval)
        self.invars.append(var)
        return JaxprTracer(self, aval, var)

    @override
    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if primitive.custom_staging:
            return rules.staging[primitive](self, *args, **params)
        return self.record(primitive, args, params)

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Append one equation and return the tracers of its results."""
        invars = self.atoms(args)
        in_avals = tuple([v.aval for v in invars])
        if primitive.call_like:
            return self.append(infer(primitive, in_avals, params), invars)
        mesh = abstract_mesh.value
        if not params:
            key: tuple[Any, ...] = (primitive, in_avals, mesh)
        elif not primitive.param_numbers:
            key = (primitive, in_avals, mesh, *params, *params.values())
        else:
            types = param_types(primitive, params)
            key = (primitive, in_avals, mesh, *params, *params.values(), *types)
        try:
            op = _MEMO.get(key)
        except TypeError:
            raise unhashable_params(primitive, params) from None
        if op is None or op_checks:
            if (cast := unified(primitive, args, in_avals)) is not None:
                return self.record(primitive, cast, params)
            key = new_key(primitive, params, key, (primitive, in_avals, mesh))
            op = infer(primitive, in_avals, params)
            if len(_MEMO) >= _MEMO_LIMIT:
                _MEMO.clear()
            op = _MEMO.setdefault(key, op)
        return self.append(op, invars)

    def record_op(self, op: TypedOp, args: Sequence[Any]) -> Any:
        """Append one equation of operands whose types are known to be those of `op`."""
        return self.append(op, self.atoms(args))

    def atoms(self, values: Sequence[Any]) -> list[Atom]:
        """Return the atom of each value."""
        return [
            x.atom if type(x) is JaxprTracer and x._trace is self else self.lift(x) for x in values
        ]

    def append(self, op: TypedOp, invars: list[Atom]) -> Any:
        """Append the equation ``op invars``; return the tracers of its results."""
        if not self.alive:
            raise _over(self)
        source = state.source
        if source is None:
            source = get_traceback()
        if op.effects:
            self.effects |= op.effects
        if op.primitive.multiple_results:
            outvars = [Var(aval) for aval in op.out_avals]
            self.eqns.append(Eqn(op, invars, outvars, source, state.name_stack, xla_metadata.value))
            return [JaxprTracer(self, v.aval, v) for v in outvars]
        aval = op.out_avals[0]
        var = Var(aval)
        self.eqns.append(Eqn(op, invars, [var], source, state.name_stack, xla_metadata.value))
        return JaxprTracer(self, aval, var)

    def lift(self, x: Any) -> Atom:
        """Return the atom for a value: a variable of this trace, a literal or a constant."""
        cls: type[Any] = type(x)
        if cls in _PYTHON_SCALARS:
            if cls is int:
                check_fits(x)
            return Literal(x, typeof(x))
        if cls is JaxprTracer and x._trace is self:
            return x.atom
        if isinstance(x, np.generic) or (cls is np.ndarray and not x.shape):
            aval = typeof(x)
            return Literal(x if x.dtype == aval.dtype else x.astype(aval.dtype), aval)
        known = self.constants.get(id(x))
        if known is not None:
            return known[0]
        if isinstance(x, Tracer) and not x._trace.alive:
            raise UnexpectedTracerError(leak_message(x))
        if not isinstance(x, Tracer) and hasattr(cls, "__jax_array__"):
            return self.lift(x.__jax_array__())
        var = Var(typeof(x))
        if not isinstance(x, Array):
            check_part_of(x, self)
        self.constants[id(x)] = (var, x)
        return var

    def literal(self, value: np.generic | complex, aval: AbstractValue) -> JaxprTracer:
        """Return a tracer that stands for a scalar written into the equations that read it."""
        return JaxprTracer(self, aval, Literal(value, aval))  # pyright: ignore[reportArgumentType]

    def to_jaxpr(self, outs: Sequence[Any]) -> ClosedJaxpr:
        """Close the program over the given outputs; the trace is finished."""
        outvars = [self.lift(x) for x in outs]
        self.finish()
        constants = list(self.constants.values())
        jaxpr = Jaxpr(
            [var for var, _ in constants],
            self.invars,
            outvars,
            self.eqns,
            self.effects,
            self.debug_info,
        )
        values = [x._fitting(v.aval) if type(x) is ArrayImpl else x for v, x in constants]
        return ClosedJaxpr(jaxpr, values)

    @override
    def finish(self) -> None:
        self.alive = False

    @override
    def origin(self, tracer: Tracer) -> str:
        return DebugInfo.describe(self.debug_info, self.invars, self.eqns, tracer)


def leak_message(tracer: Tracer) -> str:
    """Say which value of which finished trace was used, and what to write instead."""
    return (
        f"a {tracer.describe()} was used after its transformation had finished; expected a value "
        "of the running program. Return it from the transformed function instead of storing it "
        "in a global, an attribute or a list."
    )


def _over(trace: Trace) -> UnexpectedTracerError:
    return UnexpectedTracerError(
        "an operation was recorded in a program that is already finished; expected the running "
        "program. Keep generators and threads that compute inside the transformed function."
    )


def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug_info: DebugInfo | None = None,
) -> ClosedJaxpr:
    """Record `fun`, which takes and returns flat lists of values.

    Values that `fun` captures (arrays, tracers of enclosing traces) become the constants of the
    result; see `lift_tracer_consts`.
    """
    closed, trace = _record(fun, in_avals, debug_info)
    if check_tracer_leaks.value:
        report_leaks(trace)
    return closed


def _record(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug_info: DebugInfo | None,
) -> tuple[ClosedJaxpr, ref[Trace]]:
    trace = JaxprTrace(debug_info)
    old, state.source = state.source, None
    names, state.name_stack = state.name_stack, ""
    try:
        with set_current_trace(trace):
            outs = fun(*[trace.new_input(a) for a in in_avals])
            return trace.to_jaxpr(outs), ref(trace)
    finally:
        state.source, state.name_stack = old, names
        trace.finish()


def lift_tracer_consts(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """Make constants that are tracers or refs leading inputs.

    Returns:
      The jaxpr with the inputs ``(*lifted, *inputs)``, and those tracers and refs.
    """
    moved = [is_traced(c) or isinstance(c, RefCell) for c in closed.consts]
    return _lift(closed, moved) if any(moved) else (closed, [])


def hoist_consts(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """Make all constants leading inputs; return the jaxpr and the constants' values."""
    return _lift(closed, [True] * len(closed.consts)) if closed.consts else (closed, [])


def _lift(closed: ClosedJaxpr, moved: list[bool]) -> tuple[ClosedJaxpr, list[Any]]:
    jaxpr = closed.jaxpr
    pairs = list(zip(jaxpr.constvars, closed.consts, moved, strict=True))
    lifted = [(v, c) for v, c, m in pairs if m]
    kept = [(v, c) for v, c, m in pairs if not m]
    new = Jaxpr(
        [v for v, _ in kept],
        [v for v, _ in lifted] + jaxpr.invars,
        jaxpr.outvars,
        jaxpr.eqns,
        jaxpr.effects,
        jaxpr.debug_info,
    )
    return ClosedJaxpr(new, [c for _, c in kept]), [c for _, c in lifted]


def recording_trace() -> JaxprTrace | None:
    """Return the recording trace that operations on constants end in; None while evaluating.

    One that has a parent records what touches its own values, and leaves the rest to the parent.
    """
    trace: Trace | None = state.trace
    while trace is not None and (trace.parent is not None or not isinstance(trace, JaxprTrace)):
        trace = trace.parent
    return trace


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """Return a function of flat values that runs a closed jaxpr under the current trace."""
    return lambda *args: eval_closed(closed, *args)
