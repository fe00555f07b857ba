"""Residuals of a split cond: a union over the branches.

Each branch makes its own residuals, but only one branch runs. So they share slots by type: the
branch that makes fewer of a type leaves the others zero. A residual that is an operand of the
branch needs no slot, nor does one that is the same result in every branch.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var
from tans_core.types import AbstractValue
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import extended, widened, with_variables
from tans_lax.rows import zeros_like_aval
from tans_lax.user_types import filler_p

type Value = Any
type Jaxprs = tuple[ClosedJaxpr, ...]


class BranchParts(NamedTuple):
    """One branch, split.

    Attributes:
      first: ``(*ins) -> (*outs, *residuals)``.
      forwards: per residual of `second`, the input of `first` that it equals (such a residual is
        not among the outputs), or None; None when all residuals are outputs.
      second: ``(*residuals, *ins) -> outs``.
    """

    first: ClosedJaxpr
    forwards: tuple[int | None, ...] | None
    second: ClosedJaxpr


class JoinedParts(NamedTuple):
    """The branches of the two conds that a cond is split into.

    Attributes:
      first: branches ``(*ins) -> (*outs, *slots)``.
      second: branches ``(*operands, *outs, *slots, *second ins) -> second outs`` of which the
        operands are those in `used_ins` and the outs those in `used_outs`.
      used_ins: inputs of the first cond that the second one reads.
      used_outs: results of the first cond that the second one reads.
      num_outs: number of results without the slots.
    """

    first: Jaxprs
    second: Jaxprs
    used_ins: tuple[int, ...]
    used_outs: tuple[int, ...]
    num_outs: int

    def residuals(self, ins: Sequence[Value], outs: Sequence[Value]) -> list[Value]:
        """Return the leading operands of the second cond."""
        return [
            *(ins[i] for i in self.used_ins),
            *(outs[i] for i in self.used_outs),
            *outs[self.num_outs :],
        ]


_MEMO: Final[BodyMemo[JoinedParts]] = BodyMemo()


def join_parts(parts: Sequence[BranchParts], num_outs: int) -> JoinedParts:
    """Join split branches; `num_outs` is the number of outputs of `first` but for residuals."""
    key = (num_outs, *((p.first, p.forwards, p.second) for p in parts))
    # The result holds none of the first parts themselves, only their equations.
    return _MEMO.get(parts[0].first, key[:1] + _others(parts), lambda: _join(parts, num_outs))


def _others(parts: Sequence[BranchParts]) -> tuple[Any, ...]:
    return tuple((p.first, p.forwards, p.second) for p in parts)


def _join(parts: Sequence[BranchParts], num_outs: int) -> JoinedParts:
    slots: list[AbstractValue] = []
    shared = set.intersection(*(_result_residuals(part, num_outs) for part in parts))
    plans = [_place(part, num_outs, slots, shared) for part in parts]
    used_ins = tuple(sorted({i for p in plans for kind, i in p.places if kind == "in"}))
    used_outs = tuple(sorted({i for p in plans for kind, i in p.places if kind == "out"}))
    firsts = [
        _with_slots(part.first, num_outs, plan.atoms, slots)
        for part, plan in zip(parts, plans, strict=True)
    ]
    position = {("in", i): k for k, i in enumerate(used_ins)}
    position |= {("out", i): len(position) + k for k, i in enumerate(used_outs)}
    position |= {("slot", i): len(used_ins) + len(used_outs) + i for i in range(len(slots))}
    first = parts[0].first
    lead = [
        *(first.in_avals[i] for i in used_ins),
        *(first.out_avals[i] for i in used_outs),
        *slots,
    ]
    seconds = []
    for part, plan in zip(parts, plans, strict=True):
        places = [position.get(place) for place in plan.places]
        seconds.append(_with_shared_residuals(part.second, places, plan.literals, lead))
    return JoinedParts(tuple(firsts), tuple(seconds), used_ins, used_outs, num_outs)


class _Placement(NamedTuple):
    """Where the residuals of one branch are: places by residual, atoms by slot, literals."""

    places: list[tuple[str, int]]
    atoms: dict[int, Atom]
    literals: dict[int, Literal]


def _results(jaxpr: Jaxpr, num_outs: int) -> dict[Atom, int]:
    return {v: i for i, v in enumerate(jaxpr.outvars[:num_outs]) if type(v) is not Literal}


def _result_residuals(part: BranchParts, num_outs: int) -> set[int]:
    """Return the results of a branch that are among its residuals."""
    jaxpr = part.first.jaxpr
    results = _results(jaxpr, num_outs)
    return {results[v] for v in jaxpr.outvars[num_outs:] if v in results}


def _place(
    part: BranchParts, num_outs: int, slots: list[AbstractValue], shared: set[int]
) -> _Placement:
    jaxpr = part.first.jaxpr
    inputs = {v: i for i, v in enumerate(jaxpr.invars)}
    outputs = {v: i for v, i in _results(jaxpr, num_outs).items() if i in shared}
    computed = iter(jaxpr.outvars[num_outs:])
    forwards = part.forwards
    if forwards is None:
        forwards = (None,) * (len(jaxpr.outvars) - num_outs)
    places: list[tuple[str, int]] = []
    atoms: dict[int, Atom] = {}
    placed: dict[Any, int] = {}
    literals: dict[int, Literal] = {}
    for r, forward in enumerate(forwards):
        atom: Any = jaxpr.invars[forward] if forward is not None else next(computed)
        if type(atom) is Literal:
            literals[r] = atom
            places.append(("literal", r))
        elif atom in inputs:
            places.append(("in", inputs[atom]))
        elif atom in outputs:
            places.append(("out", outputs[atom]))
        else:
            if atom not in placed:
                slot = _free_slot(atom.aval.strong(), slots, atoms)
                placed[atom], atoms[slot] = slot, atom
            places.append(("slot", placed[atom]))
    return _Placement(places, atoms, literals)


def _free_slot(aval: AbstractValue, slots: list[AbstractValue], taken: dict[int, Atom]) -> int:
    for i, slot in enumerate(slots):
        if slot is aval and i not in taken:
            return i
    slots.append(aval)
    return len(slots) - 1


def _with_slots(
    first: ClosedJaxpr, num_outs: int, atoms: dict[int, Atom], slots: Sequence[AbstractValue]
) -> ClosedJaxpr:
    """Return the branch with one output per slot; slots that it does not fill are zero."""
    empty = [i for i in range(len(slots)) if i not in atoms]
    filled = [atoms[i] for i in range(len(slots)) if i in atoms]
    body = with_variables(first, outvars=[*first.jaxpr.outvars[:num_outs], *filled])
    if not empty:
        return body

    def epilogue(*outs: Value) -> list[Value]:
        given = iter(outs[num_outs:])
        rest = [_unread(a) if i in empty else next(given) for i, a in enumerate(slots)]
        return [*outs[:num_outs], *rest]

    return extended(body, (), epilogue)


def _unread(aval: AbstractValue) -> Value:
    """Return any value of a type."""
    return filler_p.bind(aval=aval) if is_hi_type(aval) else zeros_like_aval(aval)


def _with_shared_residuals(
    second: ClosedJaxpr,
    places: Sequence[int | None],
    literals: dict[int, Literal],
    lead: Sequence[AbstractValue],
) -> ClosedJaxpr:
    """Return ``(*lead, *ins) -> outs``, reading the residuals from their places in `lead`."""
    n = len(places)
    jaxpr = second.jaxpr
    # Two residuals in one place, and literals, are substituted; the others are inputs.
    env: dict[Var, Atom] = {}
    position: list[int | None] = [None] * len(lead)
    for r, place in enumerate(places):
        var = jaxpr.invars[r]
        if place is None:
            env[var] = literals[r]
        elif (earlier := position[place]) is None:
            position[place] = r
        else:
            env[var] = jaxpr.invars[earlier]
    body = substituted(second, env) if env else second
    ins = range(n, len(jaxpr.invars))
    avals = [*lead, *(jaxpr.invars[i].aval for i in ins)]
    return widened(body, [*position, *ins], avals)


def substituted(closed: ClosedJaxpr, env: dict[Var, Atom]) -> ClosedJaxpr:
    """Return the program with some of its inputs read as other atoms."""

    def read(atom: Atom) -> Atom:
        return env.get(atom, atom) if isinstance(atom, Var) else atom

    eqns = [e.replace(invars=[read(v) for v in e.invars]) for e in closed.eqns]
    return with_variables(closed, eqns=eqns, outvars=[read(v) for v in closed.jaxpr.outvars])
