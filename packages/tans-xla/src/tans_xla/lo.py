"""From high programs to low ones: user primitives are expanded, user types taken apart.

A program is high when it holds a user primitive or a value of a user type. It is traced and
transformed as such; before lowering, one pass runs its equations under a `LoTrace`, where a value
of a user type is an instance of the user's class whose parts are values of the low program. Rows of
the `to_lo` table that are a `ContextRule` say what becomes of calls and of user primitives.
"""

from collections.abc import Sequence
from typing import Any, override

from tans_core.cache import weakref_cache
from tans_core.hi_types import is_hi_type, is_hi_value, lower_value, raise_value
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, eval_closed, subjaxprs
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule, to_lo
from tans_core.staging import trace_to_jaxpr
from tans_core.state import set_current_trace, state
from tans_core.trace import Trace
from tans_core.types import AbstractValue
from tans_core.values import typeof

type Value = Any
type Avals = Sequence[AbstractValue]


class UserPrimitive(Primitive):
    """A primitive whose params hold an object of the user's class; only high programs have it."""

    __slots__ = ()


def lo_types(avals: Avals) -> list[AbstractValue]:
    """Return the types of the parts of values of these types."""
    return [lo for a in avals for lo in a.lo_types()]


def lowered(avals: Avals, values: Sequence[Value]) -> list[Value]:
    """Take values of these types apart."""
    return [lo for a, x in zip(avals, values, strict=True) for lo in lower_value(a, x)]


def raised(avals: Avals, los: Sequence[Value]) -> list[Value]:
    """Put values of these types together."""
    rest = iter(los)
    return [raise_value(a, [next(rest) for _ in a.lo_types()]) for a in avals]


def spread(avals: Avals, items: Sequence[Any]) -> list[Any]:
    """Repeat what is given per value for each of the value's parts."""
    return [x for a, x in zip(avals, items, strict=True) for _ in a.lo_types()]


@weakref_cache(context=False)
def is_high(closed: ClosedJaxpr) -> bool:
    """Whether a program holds user primitives or values of user types."""
    jaxpr = closed.jaxpr
    if any(is_hi_type(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars)):
        return True
    for eqn in jaxpr.eqns:
        primitive = eqn.op.primitive
        if not primitive.call_like:
            continue
        if isinstance(primitive, UserPrimitive) or _holds_high(eqn.op.params):
            return True
    return False


def _holds_high(params: dict[str, Any]) -> bool:
    return any(is_high(b if isinstance(b, ClosedJaxpr) else _closed(b)) for b in subjaxprs(params))


def _closed(jaxpr: Jaxpr) -> ClosedJaxpr:
    return ClosedJaxpr(jaxpr, [None] * len(jaxpr.constvars))


class LoTrace(Trace):
    """Runs calls and user primitives by their `to_lo` row, and all else in the parent."""

    __slots__ = ()

    @override
    def process(self, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]) -> Any:
        assert self.parent is not None
        user = isinstance(primitive, UserPrimitive)
        if user or any(map(is_hi_value, args)) or (primitive.call_like and _holds_high(params)):
            rule: Any = to_lo.find(primitive)
            if rule is None and not any(map(is_hi_value, args)):
                rule = to_lo[primitive]  # raises: the row is missing
            if type(rule) is not ContextRule:
                raise _not_arrays(primitive, args)
            return rule(lo_context, *args, **params)
        return self.parent.process(primitive, args, params)


def _not_arrays(primitive: Primitive, args: Sequence[Value]) -> TypeError:
    types = ", ".join(typeof(x).str_short() for x in args)
    return TypeError(
        f"{primitive.name}: given operands of types {types}; expected arrays. Operations on arrays "
        "don't take values of user types: apply a HiPrim that returns an array first."
    )


class LoRowContext:
    """What `to_lo` rows of calls are given."""

    __slots__ = ()

    lowered = staticmethod(lowered)
    raised = staticmethod(raised)
    spread = staticmethod(spread)

    def lo_jaxpr(self, body: ClosedJaxpr) -> ClosedJaxpr:
        """Return the low form of a body: parts of its inputs to parts of its outputs."""
        return lo_jaxpr(body)


lo_context = LoRowContext()


def lo_jaxpr(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the low form of a program, the program itself when it is not high."""
    return _lo_jaxpr(closed) if is_high(closed) else closed


@weakref_cache()
def _lo_jaxpr(closed: ClosedJaxpr) -> ClosedJaxpr:
    in_avals, out_avals = closed.in_avals, closed.out_avals

    def run(*los: Value) -> list[Value]:
        trace = LoTrace(state.trace)
        with set_current_trace(trace):
            outs = eval_closed(closed, *raised(in_avals, los))
            return lowered(out_avals, outs)

    info = None if any(map(is_hi_type, in_avals)) else closed.jaxpr.debug_info
    return trace_to_jaxpr(run, lo_types(in_avals), info)
