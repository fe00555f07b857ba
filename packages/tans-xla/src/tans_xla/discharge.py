"""From programs with refs to pure programs: each ref becomes the value that it holds now.

An interpreter runs the equations in order. A variable of ref type stands for the current value of
the ref; equations that write replace it. Programs inside of equations are rewritten by the rows of
the `discharge` table.

A row is ``rule(ctx, *operands, **params)``, where an operand of ref type is the ref's value. It
returns the results, and a dict from the number of each ref operand that was written to its new
value. Results of ref type are values too.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tans_core import rules
from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.debug_info import user_line
from tans_core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, eval_closed
from tans_core.primitive import Primitive
from tans_core.refs import has_refs, is_ref_type, writes
from tans_core.staging import JaxprTrace, trace_to_jaxpr
from tans_core.state import state

type Value = Any
type Updates = dict[int, Value]
type Rule = Callable[..., tuple[Sequence[Value], Updates]]


class Discharged(NamedTuple):
    """A pure program.

    Attributes:
      closed: ``(*ins) -> (*outs, *new values of the written refs)``; inputs that were refs are
        their values.
      written: numbers of the inputs that were written, in order.
    """

    closed: ClosedJaxpr
    written: tuple[int, ...]


class DischargeContext:
    """What a discharge row may ask for.

    Attributes:
      eqn: the equation; types of ref operands are `AbstractRef`.
    """

    __slots__ = ("eqn",)

    def __init__(self, eqn: Eqn) -> None:
        self.eqn = eqn

    def discharge(self, body: ClosedJaxpr) -> Discharged:
        """Return the pure form of a body, which must have no constants that are refs."""
        return discharged(body)


class _Ended:
    """Stands for the value of a ref that was frozen or freed."""

    __slots__ = ("eqn",)

    def __init__(self, eqn: Eqn) -> None:
        self.eqn = eqn


def ended(eqn: Eqn) -> Any:
    """Return what a row gives as the new value of a ref that `eqn` ends."""
    return _Ended(eqn)


_memo: Final[WeakKeyDictionary[ClosedJaxpr, dict[Any, Any]]] = WeakKeyDictionary()
register_cache("discharged programs", _memo.clear)


def discharge_state(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the pure program that does what a program with refs does.

    Args:
      closed: a program, as from `make_jaxpr`. Constants that are refs become leading inputs.

    Returns:
      The program ``(*refs_closed_over, *ins) -> (*outs, *new values of all refs)``: inputs of ref
      type are the refs' values, and the new values come in the order of the inputs.

    Raises:
      NotImplementedError: a primitive has no discharge rule.
      ValueError: a ref is used after its end.

    Example:
      >>> from tans_core import ShapedArray, trace_to_jaxpr
      >>> from tans_core.refs import AbstractRef, get_p
      >>> ref = AbstractRef(ShapedArray((2,), "float32"))
      >>> discharge_state(trace_to_jaxpr(lambda r: [get_p.bind(r, transforms=())], [ref]))
      { lambda ; a:f32[2]. let  in (a, a) }
    """
    closed = _refs_first(closed)
    pure, written = discharged(closed)
    jaxpr = pure.jaxpr
    count = len(jaxpr.outvars) - len(written)
    new = dict(zip(written, jaxpr.outvars[count:], strict=True))
    finals = [new.get(i, jaxpr.invars[i]) for i, a in enumerate(closed.in_avals) if is_ref_type(a)]
    outvars = [*jaxpr.outvars[:count], *finals]
    changed = Jaxpr(
        jaxpr.constvars, jaxpr.invars, outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info
    )
    return ClosedJaxpr(changed, pure.consts)


def _refs_first(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Make constants that are refs leading inputs."""
    jaxpr = closed.jaxpr
    pairs = list(zip(jaxpr.constvars, closed.consts, strict=True))
    refs = [v for v, _ in pairs if is_ref_type(v.aval)]
    if not refs:
        return closed
    kept = [(v, c) for v, c in pairs if not is_ref_type(v.aval)]
    new = Jaxpr(
        [v for v, _ in kept], [*refs, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns, jaxpr.effects,
        jaxpr.debug_info,
    )  # fmt: skip
    return ClosedJaxpr(new, [c for _, c in kept])


def discharged(closed: ClosedJaxpr) -> Discharged:
    """Return the pure form of a program without constants that are refs; memoised."""
    if not has_refs(closed.effects) and not any(map(is_ref_type, closed.in_avals)):
        return Discharged(closed, ())
    table = _memo.setdefault(closed, {})
    key = trace_context()
    found = table.get(key)
    if found is None:
        found = table.setdefault(key, _discharge(closed))
    return found


def _discharge(closed: ClosedJaxpr) -> Discharged:
    jaxpr = closed.jaxpr
    n_consts = len(jaxpr.constvars)
    written = sorted({e.input_index - n_consts for e in jaxpr.effects if writes((e,))})
    avals = [a.inner_aval if is_ref_type(a) else a for a in closed.in_avals]

    def run(*args: Value) -> list[Value]:
        trace = state.trace
        assert type(trace) is JaxprTrace
        env: dict[Any, Value] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        try:
            for eqn in jaxpr.eqns:
                state.source, state.name_stack = eqn.traceback, eqn.name_stack
                _step(trace, eqn, env)
        finally:
            state.source, state.name_stack = None, ""
        outs = [_read(v, env, None) for v in jaxpr.outvars]
        return outs + [_read(jaxpr.invars[i], env, None) for i in written]

    pure = trace_to_jaxpr(run, avals, jaxpr.debug_info)
    return Discharged(pure, tuple(written))


def _step(trace: JaxprTrace, eqn: Eqn, env: dict[Any, Value]) -> None:
    op = eqn.op
    values = [_read(v, env, eqn) for v in eqn.invars]
    primitive = op.primitive
    if not has_refs(op.effects) and not (
        primitive.takes_refs and any(map(is_ref_type, op.in_avals))
    ):
        outs = trace.record_op(op, values)
        outs = outs if primitive.multiple_results else [outs]
    else:
        rule: Rule | None = rules.discharge.find(primitive)
        if rule is None:
            raise _no_rule(primitive, eqn)
        outs, updates = rule(DischargeContext(eqn), *values, **op.params)
        for i, new in updates.items():
            env[eqn.invars[i]] = new
    env.update(zip(eqn.outvars, outs, strict=True))


def _read(atom: Any, env: dict[Any, Value], eqn: Eqn | None) -> Value:
    if type(atom) is Literal:
        return atom.val
    value = env[atom]
    if type(value) is _Ended:
        line, by = user_line(eqn.traceback if eqn else None), user_line(value.eqn.traceback)
        user = eqn.primitive if eqn else "the result"
        raise ValueError(
            f"{user}{' at ' + line if line else ''}: given a ref of type "
            f"{atom.aval.str_short(False)} that has ended by {value.eqn.primitive}"
            f"{' at ' + by if by else ''}; expected a ref that can still be used. Make a new one "
            "with new_ref."
        )
    return value


def _no_rule(primitive: Primitive, eqn: Eqn) -> NotImplementedError:
    line = user_line(eqn.traceback)
    return NotImplementedError(
        f"{primitive.name}{' at ' + line if line else ''}: given refs inside; expected a primitive "
        f"with a discharge rule, which {primitive.name} lacks. Read the refs before, and pass "
        "their values."
    )


def body_rule(primitive: Primitive, name: str) -> Rule:
    """Return the row of a call whose operands and results are those of the body in `name`."""

    def rule(ctx: DischargeContext, *operands: Value, **params: Any) -> Any:
        pure, written = ctx.discharge(params[name])
        if not pure.out_avals:
            return [], {}
        outs = primitive.bind(*operands, **params | {name: pure})
        count = len(outs) - len(written)
        return outs[:count], dict(zip(written, outs[count:], strict=True))

    return rule


def inline_rule(name: str) -> Rule:
    """Return the row of a call that is lowered as the body in the param `name`, in place."""

    def rule(ctx: DischargeContext, *operands: Value, **params: Any) -> Any:
        pure, written = ctx.discharge(params[name])
        outs = eval_closed(pure, *operands)
        count = len(outs) - len(written)
        return outs[:count], dict(zip(written, outs[count:], strict=True))

    return rule
