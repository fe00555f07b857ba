"""Rewiring bodies: new programs from old ones by exchanging variables, without tracing again.

Identity matters: transformations memoise on the body object, so everything here does too.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from tans_core.refs import is_ref_type
from tans_core.staging import trace_to_jaxpr
from tans_core.types import AbstractValue
from tans_lax.control_flow.memo import BodyMemo

type Avals = Sequence[AbstractValue]
type Epilogue = Callable[..., Sequence[Any]]

_REARRANGED: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()
_WIDENED: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()
_PRUNED: Final[BodyMemo[tuple[ClosedJaxpr | None, tuple[bool, ...]]]] = BodyMemo()


def rearranged(closed: ClosedJaxpr, ins: Sequence[int], outs: Sequence[int]) -> ClosedJaxpr:
    """Permute the inputs, and select, repeat or permute the outputs.

    Args:
      closed: the program.
      ins: for each new input, its old index; every old index once.
      outs: for each new output, its old index.
    """
    jaxpr = closed.jaxpr
    ins, outs = tuple(ins), tuple(outs)
    if ins == tuple(range(len(jaxpr.invars))) and outs == tuple(range(len(jaxpr.outvars))):
        return closed

    def make() -> ClosedJaxpr:
        invars = [jaxpr.invars[i] for i in ins]
        return with_variables(closed, invars=invars, outvars=[jaxpr.outvars[i] for i in outs])

    return _REARRANGED.get(closed, (ins, outs), make)


def with_variables(
    closed: ClosedJaxpr,
    *,
    invars: Sequence[Var] | None = None,
    outvars: Sequence[Atom] | None = None,
    eqns: Sequence[Eqn] | None = None,
) -> ClosedJaxpr:
    """Return the program with other inputs, outputs or equations."""
    jaxpr = closed.jaxpr
    new = Jaxpr(
        jaxpr.constvars,
        jaxpr.invars if invars is None else invars,
        jaxpr.outvars if outvars is None else outvars,
        jaxpr.eqns if eqns is None else eqns,
        jaxpr.effects if eqns is None else None,
        jaxpr.debug_info,
    )
    return ClosedJaxpr(new, closed.consts)


def widened(closed: ClosedJaxpr, positions: Sequence[int | None], avals: Avals) -> ClosedJaxpr:
    """Give the program more inputs, which it ignores.

    Args:
      closed: the program.
      positions: for each new input, the index of the old input it is, or None for one to ignore.
      avals: types of the new inputs.
    """
    key = (tuple(positions), tuple(avals))

    def make() -> ClosedJaxpr:
        old = closed.jaxpr.invars
        pairs = zip(positions, avals, strict=True)
        return with_variables(closed, invars=[Var(a) if p is None else old[p] for p, a in pairs])

    return _WIDENED.get(closed, key, make)


def extended(closed: ClosedJaxpr, extra: Avals, epilogue: Epilogue) -> ClosedJaxpr:
    """Put computations behind a program.

    Args:
      closed: program ``(*ins) -> (*outs)``.
      extra: types of additional inputs.
      epilogue: function ``(*outs, *extra_ins) -> new_outs`` of traced values; must capture none.

    Returns:
      The program ``(*ins, *extra_ins) -> (*new_outs)``; only the epilogue is traced.
    """
    tail = trace_to_jaxpr(epilogue, [*closed.out_avals, *extra])
    extra_vars = [Var(a) for a in extra]
    env: dict[Var, Atom] = dict(
        zip(tail.jaxpr.invars, [*closed.jaxpr.outvars, *extra_vars], strict=True)
    )

    def read(atom: Atom) -> Atom:
        return env.get(atom, atom) if isinstance(atom, Var) else atom

    eqns = [
        *closed.eqns,
        *(
            Eqn(e.op, [read(v) for v in e.invars], e.outvars, e.traceback, e.name_stack, e.metadata)
            for e in tail.eqns
        ),
    ]
    jaxpr = Jaxpr(
        [*closed.jaxpr.constvars, *tail.jaxpr.constvars],
        [*closed.jaxpr.invars, *extra_vars],
        [read(v) for v in tail.jaxpr.outvars],
        eqns,
        closed.effects | tail.effects,
        closed.jaxpr.debug_info,
    )
    return ClosedJaxpr(jaxpr, [*closed.consts, *tail.consts])


def pruned(
    closed: ClosedJaxpr, used_outputs: Sequence[bool], keep_inputs: Sequence[bool]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Remove dead code, memoised.

    Args:
      closed: the program.
      used_outputs: which outputs to keep.
      keep_inputs: which inputs to keep even when nothing reads them.

    Returns:
      The smaller program and which inputs it has.
    """
    used_outputs, keep_inputs = tuple(used_outputs), tuple(keep_inputs)

    def make() -> tuple[ClosedJaxpr | None, tuple[bool, ...]]:
        small, used = dce_jaxpr(closed, used_outputs, keep_inputs)
        return (None if small is closed else small), tuple(used)

    small, used = _PRUNED.get(closed, (used_outputs, keep_inputs), make)
    return (closed if small is None else small), used


def without_effects(closed: ClosedJaxpr, keep_input_refs: bool = False) -> ClosedJaxpr:
    """Drop effects whose results nobody reads, for programs that repeat a computation.

    The repetition is for values only: its effects have happened already. Refs that the program
    makes are made anew, with all that is written to them and read.

    Args:
      closed: the program.
      keep_input_refs: whether writes to refs that are inputs are kept.
    """
    if not closed.effects:
        return closed
    live: set[Any] = set(closed.jaxpr.outvars)
    inputs = (*closed.jaxpr.constvars, *closed.jaxpr.invars)
    outer = {v for v in inputs if is_ref_type(v.aval)}
    if keep_input_refs:
        live |= outer
        outer = set()
    kept: list[Eqn] = []
    for eqn in reversed(closed.eqns):
        if eqn.effects:
            own = [v for v in eqn.invars if is_ref_type(v.aval) and v not in outer]
            if not any(v in live for v in (*eqn.outvars, *own)):
                continue
            eqn = _quiet(eqn)  # noqa: PLW2901
        kept.append(eqn)
        live.update(v for v in eqn.invars if type(v) is not Literal)
    kept.reverse()
    return with_variables(closed, eqns=kept)


def _quiet(eqn: Eqn) -> Eqn:
    if not eqn.primitive.call_like:
        return eqn
    params = {name: _quiet_param(value) for name, value in eqn.params.items()}
    bodies = [x for value in params.values() for x in _bodies(value)]
    effects = frozenset[Any]().union(*(body.effects for body in bodies))
    return eqn.replace(params=params, effects=effects)


def _quiet_param(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return without_effects(value, keep_input_refs=True)
    if type(value) is tuple and _bodies(value):
        return tuple(map(_quiet_param, value))
    return value


def _bodies(value: Any) -> list[ClosedJaxpr]:
    items = value if type(value) is tuple else (value,)
    return [x for x in items if isinstance(x, ClosedJaxpr)]
