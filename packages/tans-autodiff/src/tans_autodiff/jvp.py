"""Forward mode: a trace whose values are pairs of a primal and a tangent."""

from collections.abc import Callable, Sequence
from typing import Any, Final, override

from tans_autodiff.body_memo import memoised_on_body
from tans_core import ArrayImpl, rules
from tans_core.context import Mask
from tans_core.debug_info import debug_info_of
from tans_core.dtypes import float0
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.manual_mode import has_manual_axes, unified
from tans_core.primitive import Primitive
from tans_core.refs import AbstractRef, empty_ref_p, new_ref_p
from tans_core.rules import ContextRule
from tans_core.staging import trace_to_jaxpr
from tans_core.state import state, swap_trace
from tans_core.trace import Trace, Tracer, eval_trace
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_core.zeros import Zero, zero_tangent
from tans_lax.rows import instantiate_zeros
from tans_xla.wide_arrays import narrow

type Value = Any  # a concrete array, a Python scalar or a tracer
type Tangent = Any  # a Value, or a symbolic zero
type FlatFun = Callable[..., Sequence[Value]]


# A ref made during differentiation gets a ref of tangents, whatever it starts with.
REF_MAKERS: Final = frozenset((new_ref_p, empty_ref_p))


def bind_in(
    trace: Trace, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]
) -> Any:
    """Hand an operation to an outer trace."""
    if trace is not eval_trace:
        return trace.process(primitive, args, params)
    # Compiled code is found under the evaluation trace's mark only.
    old = swap_trace(trace)
    try:
        return trace.process(primitive, args, params)
    finally:
        swap_trace(old)


def inside(trace: Any) -> str:
    """Say where a tracer belongs, such as " inside grad of f at file.py:3"."""
    if trace.origin is None:
        return ""
    info = debug_info_of(*trace.origin)
    place = f" at {info.location}" if str(info.location) else ""
    return f" inside {trace.origin[0]} of {info.name}{place}"


class JVPTracer(Tracer):
    """A value with its tangent; the tangent is never a symbolic zero."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: Trace, aval: AbstractValue, primal: Value, tangent: Tangent) -> None:
        self._trace = trace
        self.aval = aval
        self.primal = primal
        self.tangent = tangent

    @override
    def describe(self) -> str:
        return f"{super().describe()}{inside(self._trace)}"


class JVPTrace(Trace):
    """Runs the JVP row of every operation that touches a tangent, and all else in the parent.

    `origin` is the name of the transformation and the user's function, when there is one.
    """

    __slots__ = ("origin",)

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.origin: tuple[str, Any] | None = None

    @override
    def process(self, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]) -> Any:
        primals: list[Value] = []
        tangents: list[Tangent] = []
        touched = False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                touched = True
            else:
                primals.append(narrow(x) if type(x) is ArrayImpl else x)
                tangents.append(None)
        parent = self.parent
        assert parent is not None
        if not touched and primitive not in REF_MAKERS:
            return bind_in(parent, primitive, tuple(primals), params)
        if len(args) > 1 and has_manual_axes():
            cast = unified(primitive, args, [typeof(x) for x in args])
            if cast is not None:
                return self.process(primitive, tuple(cast), params)
        fill_zeros(primals, tangents)
        rule: Any = rules.jvp[primitive]
        old = swap_trace(parent)
        try:
            if type(rule) is ContextRule:
                outs, out_tangents = rule.rule(jvp_context, primals, tangents, **params)
            else:
                outs, out_tangents = rule(primals, tangents, **params)
        finally:
            swap_trace(old)
        if primitive.multiple_results:
            return [self.pair(x, t) for x, t in zip(outs, out_tangents, strict=True)]
        return self.pair(outs, out_tangents)

    def pair(self, primal: Value, tangent: Tangent) -> Value:
        """Return a tracer for the pair, or the bare primal when the tangent is zero."""
        if type(tangent) is Zero:
            return primal
        return JVPTracer(self, typeof(primal), primal, tangent)


def fill_zeros(primals: Sequence[Value], tangents: list[Tangent]) -> None:
    """Put a symbolic zero in place of each None."""
    for i, tangent in enumerate(tangents):
        if tangent is None:
            tangents[i] = Zero(typeof(primals[i]).to_tangent())


def has_tangent(aval: AbstractValue) -> bool:
    """Whether values of this type have tangents other than zero."""
    if type(aval) is AbstractRef and aval.kind is not None:
        return False
    return getattr(aval.to_tangent(), "dtype", None) != float0


def jvp_flat(
    fun: FlatFun, primals: Sequence[Value], tangents: Sequence[Tangent]
) -> tuple[list[Value], list[Tangent]]:
    """Run a function of flat values on pairs.

    Args:
      fun: takes and returns flat lists.
      primals: arguments.
      tangents: one per argument; may be symbolic zeros.

    Returns:
      The outputs, and their tangents (symbolic zeros where there is none).
    """
    parent = state.trace
    trace = JVPTrace(parent)
    pairs = [trace.pair(x, t) for x, t in zip(primals, tangents, strict=True)]
    old = swap_trace(trace)
    try:
        results = fun(*pairs)
    finally:
        swap_trace(old)
        trace.finish()
    outs: list[Value] = []
    out_tangents: list[Tangent] = []
    for x in results:
        primal, tangent = split_pair(trace, x)
        outs.append(primal)
        out_tangents.append(zero_tangent(typeof(x)) if tangent is None else tangent)
    return outs, out_tangents


def split_pair(trace: Trace, x: Value) -> tuple[Value, Value | None]:
    """Return the primal and the tangent of an output; None stands for no tangent."""
    if type(x) is JVPTracer and x._trace is trace:
        return x.primal, x.tangent
    return x, None


@memoised_on_body
def jvp_jaxpr(
    body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
) -> tuple[ClosedJaxpr, Mask]:
    """Return ``(*primals, *nonzero_tangents) -> (*outs, *nonzero_out_tangents)`` and a mask.

    Args:
      body: the program to differentiate.
      nonzero: which inputs have a tangent.
      instantiate: which output tangents to make even when they are zero.
    """
    forced = as_mask(instantiate, len(body.out_avals))
    nonzero_out: Mask = ()

    def with_tangents(*args: Value) -> list[Value]:
        nonlocal nonzero_out
        primals = args[: len(nonzero)]
        given = iter(args[len(nonzero) :])
        tangents = [
            next(given) if nz else zero_tangent(aval)
            for nz, aval in zip(nonzero, body.in_avals, strict=True)
        ]
        outs, outs_dot = jvp_flat(lambda *xs: eval_closed(body, *xs), primals, tangents)
        nonzero_out = tuple(
            type(t) is not Zero or force for t, force in zip(outs_dot, forced, strict=True)
        )
        kept = [instantiate_zeros(t) for t, nz in zip(outs_dot, nonzero_out, strict=True) if nz]
        return [*outs, *kept]

    tangent_avals = [a.to_tangent() for a, nz in zip(body.in_avals, nonzero, strict=True) if nz]
    closed = trace_to_jaxpr(with_tangents, [*body.in_avals, *tangent_avals], body.jaxpr.debug_info)
    return closed, nonzero_out


def as_mask(flags: bool | Sequence[bool], length: int) -> Mask:
    """Spread one flag over all positions, or check that there is one per position."""
    if isinstance(flags, bool):
        return (flags,) * length
    assert len(flags) == length
    return tuple(flags)


class JVPRowContext:
    """What JVP rows of call-like primitives are given."""

    __slots__ = ()

    def jvp_jaxpr(
        self, body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
    ) -> tuple[ClosedJaxpr, Mask]:
        """Differentiate a body; see `tans_core.context.JVPContext`."""
        return jvp_jaxpr(body, tuple(nonzero), _hashable(instantiate))


def _hashable(flags: bool | Sequence[bool]) -> bool | Mask:
    return flags if isinstance(flags, bool) else tuple(flags)


jvp_context = JVPRowContext()
