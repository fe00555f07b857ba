"""Indexing under a trace: each kind of index is worked out once.

What an index does depends on its pattern and on types, not on values. So the equations of one kind
are recorded in a program of their own at its first use. Later uses append them to the program being
recorded, or bind them under another trace, without parsing the index or choosing operations again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import (
    ArrayImpl,
    JaxprTrace,
    JaxprTracer,
    Literal,
    Tracer,
    TypedOp,
    eval_trace,
    trace_to_jaxpr,
    typeof,
)
from tans_core.cache import register_cache
from tans_core.config import abstract_mesh, enable_x64
from tans_core.state import state

type Value = Any  # an array, a NumPy scalar or a tracer
type Key = tuple[Any, ...]

_LIMIT: Final = 1 << 13
_ARRAYS: Final = frozenset((JaxprTracer, ArrayImpl))
_BOUNDS: Final = frozenset((int, type(None)))


class Program(NamedTuple):
    """A recorded program.

    Attributes:
      steps: operation and operands, each a literal or a position in the environment: arguments
        first, then the results of the steps.
      result: position of the result.
    """

    steps: tuple[tuple[TypedOp, tuple[Any, ...]], ...]
    result: int


_PROGRAMS: Final[dict[Key, Program | None]] = {}
_MISSING: Final[Any] = object()
register_cache("recorded indexing", _PROGRAMS.clear)


def key_of(index: Any) -> tuple[list[Any], list[Value]] | None:
    """Split an index into a hashable pattern and its arrays; None for rare kinds of index."""
    pattern: list[Any] = []
    arrays: list[Value] = []
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is int or item is None or item is Ellipsis:
            pattern.append(item)
        elif kind is slice:
            if not (
                type(item.start) in _BOUNDS
                and type(item.stop) in _BOUNDS
                and type(item.step) in _BOUNDS
            ):
                return None
            pattern.append(item)
        elif kind in _ARRAYS or isinstance(item, Tracer):
            aval = item.aval
            if not isinstance(aval.dtype, np.dtype) or aval.dtype.kind not in "iu":
                return None
            pattern.append(aval)
            arrays.append(item)
        else:
            return None
    return pattern, arrays


def index_of(pattern: Sequence[Any], arrays: Sequence[Value]) -> tuple[Any, ...]:
    """Put arrays back into the pattern of an index."""
    rest = iter(arrays)
    static = (int, slice, type(None), type(Ellipsis))
    return tuple(item if type(item) in static else next(rest) for item in pattern)


def can_replay(*args: Value) -> bool:
    """Whether arguments are arrays under a trace, and hold elements.

    An axis without elements may be indexed only where `vmap` maps the index over nothing, which
    the recorded program would not see.
    """
    if state.trace is eval_trace:
        return False
    size = args[0].size
    return (type(size) is not int or size > 0) and all(
        type(x) in _ARRAYS or isinstance(x, Tracer) for x in args
    )


def call(key: Key, fun: Callable[..., Value], args: Sequence[Value]) -> Value:
    """Compute ``fun(*args)`` under a trace, by the program recorded for `key`.

    Args:
      key: everything that `fun` depends on except the arguments' types.
      fun: function of arrays, with one result and no effects.
      args: arrays, NumPy scalars or tracers.
    """
    trace: Any = state.trace
    appends = type(trace) is JaxprTrace
    env = [trace.lift(x) for x in args] if appends else list(args)
    avals = tuple([x.aval for x in env] if appends else map(typeof, env))
    full = (key, avals, abstract_mesh.value, enable_x64.value)
    program = _PROGRAMS.get(full, _MISSING)
    if program is _MISSING:
        if len(_PROGRAMS) >= _LIMIT:
            _PROGRAMS.clear()
        program = _PROGRAMS.setdefault(full, _record(fun, avals))
    if program is None:
        return fun(*args)
    if program.result < len(args):
        return args[program.result]
    return _append(trace, program, env) if appends else _bind(program, env)


def _append(trace: JaxprTrace, program: Program, env: list[Any]) -> Value:
    tracer: Any = None
    for op, operands in program.steps:
        tracer = trace.append(op, [env[k] if type(k) is int else k for k in operands])
        env.append(tracer.atom)
    return tracer


def _bind(program: Program, env: list[Any]) -> Value:
    for op, operands in program.steps:
        values = [env[k] if type(k) is int else k.val for k in operands]
        env.append(op.primitive.bind(*values, **op.params))
    return env[-1]


def _record(fun: Callable[..., Value], avals: tuple[Any, ...]) -> Program | None:
    """Record a program; None if it holds constants, which belong to one caller."""
    closed = trace_to_jaxpr(lambda *args: [fun(*args)], avals)
    jaxpr = closed.jaxpr
    out: Any = jaxpr.outvars[0]
    if closed.consts or type(out) is Literal or any(len(e.outvars) != 1 for e in jaxpr.eqns):
        return None
    position: dict[Any, int] = {var: k for k, var in enumerate(jaxpr.invars)}
    steps = []
    for eqn in jaxpr.eqns:
        operands = tuple(a if type(a) is Literal else position[a] for a in eqn.invars)
        steps.append((eqn.op, operands))
        position[eqn.outvars[0]] = len(position)
    if position[out] >= len(jaxpr.invars) and position[out] != len(position) - 1:
        return None
    return Program(tuple(steps), position[out])
