"""Residuals of a split scan: which values the second scan reads, and where they come from.

A value that the body makes anew in each step has to be stacked. Everything else is cheaper: a
constant or an element of xs is there already, a stacked result of the user's serves both, and what
depends on constants only is computed once, before the loop, unless it has an effect.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.jaxpr import Atom, ClosedJaxpr, Eqn, Literal, Var, eval_closed
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import pruned, with_variables
from tans_lax.control_flow.scan import scan_p

type Value = Any

OPERAND: Final = "operand"  # a constant or an array of xs of the scan
RESULT: Final = "result"  # a stacked result of the scan
HOISTED: Final = "hoisted"  # computed before the loop
LITERAL: Final = "literal"


class Source(NamedTuple):
    """Where a residual comes from: its kind, and an index (or the literal)."""

    kind: str
    at: Any


class ResidualPlan(NamedTuple):
    """How to run the first scan of a split one.

    Attributes:
      body: ``(*consts, *hoisted, *carry, *xs) -> (*carry, *ys, *stacked residuals)``.
      invariant: ``(*consts) -> (*hoisted)``, or None when nothing is hoisted.
      num_consts: number of constants, without the hoisted values.
      num_outs: number of results that are not residuals.
      sources: where each residual is found.
      fixed: per residual, whether it is the same in each step.
    """

    body: ClosedJaxpr
    invariant: ClosedJaxpr | None
    num_consts: int
    num_outs: int
    sources: tuple[Source, ...]
    fixed: tuple[bool, ...]

    def run(
        self, operands: Sequence[Value], num_carry: int, params: dict[str, Any]
    ) -> tuple[list[Value], list[Value]]:
        """Bind the scan; return its results and the residuals."""
        consts = operands[: self.num_consts]
        hoisted: list[Value] = []
        if self.invariant is not None:
            hoisted = eval_closed(self.invariant, *consts)
        outs: list[Value] = []
        if self.body.out_avals or self.body.effects:
            outs = scan_p.bind(
                *consts,
                *hoisted,
                *operands[self.num_consts :],
                jaxpr=self.body,
                num_consts=self.num_consts + len(hoisted),
                num_carry=num_carry,
                **params,
            )
        found = {OPERAND: operands, RESULT: outs, HOISTED: hoisted}
        residuals = [s.at if s.kind is LITERAL else found[s.kind][s.at] for s in self.sources]
        return outs[: self.num_outs], residuals


_MEMO: Final[BodyMemo[ResidualPlan]] = BodyMemo()


def plan_residuals(
    body: ClosedJaxpr,
    num_outs: int,
    num_consts: int,
    num_carry: int,
    forwards: tuple[int | None, ...] | None,
) -> ResidualPlan:
    """Plan the first scan of a split one.

    Args:
      body: ``(*consts, *carry, *xs) -> (*carry, *ys, *residuals)``.
      num_outs: number of outputs that are not residuals.
      num_consts: leading inputs that are the same in each step.
      num_carry: inputs and leading outputs that are carried.
      forwards: per residual the input that it equals (such a residual is not among the outputs)
        or None; None when all residuals are outputs.
    """
    key = (num_outs, num_consts, num_carry, forwards)

    def make() -> ResidualPlan:
        atoms: list[Atom] = list(body.jaxpr.outvars[num_outs:])
        if forwards is not None:
            computed = iter(atoms)
            atoms = [next(computed) if i is None else body.jaxpr.invars[i] for i in forwards]
        return _plan(body, atoms, num_outs, num_consts, num_carry)

    return _MEMO.get(body, key, make)


def _plan(
    body: ClosedJaxpr, residuals: list[Atom], num_outs: int, num_consts: int, num_carry: int
) -> ResidualPlan:
    jaxpr = body.jaxpr
    invariant, hoistable = _invariant_part(body, num_consts)
    operands = {
        v: i for i, v in enumerate(jaxpr.invars) if not num_consts <= i < num_consts + num_carry
    }
    outs = list(jaxpr.outvars[:num_outs])
    stacked = {v: num_carry + j for j, v in enumerate(outs[num_carry:]) if type(v) is Var}
    hoisted: dict[Var, int] = {}
    sources: list[Source] = []
    fixed: list[bool] = []
    for atom in residuals:
        if isinstance(atom, Literal):
            source, same = Source(LITERAL, atom.val), True
        elif atom in operands:
            source, same = Source(OPERAND, operands[atom]), operands[atom] < num_consts
        elif atom in hoistable:
            source, same = Source(HOISTED, hoisted.setdefault(atom, len(hoisted))), True
        else:
            if atom not in stacked:
                stacked[atom] = len(outs)
                outs.append(atom)
            source, same = Source(RESULT, stacked[atom]), False
        sources.append(source)
        fixed.append(same)
    first, before = _hoist(body, outs, list(hoisted), invariant, num_consts)
    return ResidualPlan(first, before, num_consts, num_outs, tuple(sources), tuple(fixed))


def _invariant_part(body: ClosedJaxpr, num_consts: int) -> tuple[list[Eqn], set[Var]]:
    """Return the equations without effects that read constants only, and their results."""
    known: set[Any] = {*body.jaxpr.constvars, *body.jaxpr.invars[:num_consts]}
    results: set[Var] = set()
    eqns: list[Eqn] = []
    for eqn in body.eqns:
        if not eqn.effects and all(type(v) is Literal or v in known for v in eqn.invars):
            eqns.append(eqn)
            known.update(eqn.outvars)
            results.update(eqn.outvars)
    return eqns, results


def _hoist(
    body: ClosedJaxpr,
    outs: list[Atom],
    hoisted: list[Var],
    invariant: list[Eqn],
    num_consts: int,
) -> tuple[ClosedJaxpr, ClosedJaxpr | None]:
    """Cut the body in two: what runs before the loop, and what runs in it."""
    invars = body.jaxpr.invars
    if not hoisted:
        return with_variables(body, outvars=outs), None
    before = with_variables(body, invars=invars[:num_consts], outvars=hoisted, eqns=invariant)
    before, _ = pruned(before, (True,) * len(hoisted), (True,) * num_consts)
    # The loop reads the hoisted value in place of computing it. An equation with several results
    # stays: a variable has one definition.
    single = {e.outvars[0] for e in invariant if len(e.outvars) == 1}
    given = [v if v in single else Var(v.aval) for v in hoisted]
    moved = single.intersection(hoisted)
    eqns = [e for e in body.eqns if len(e.outvars) != 1 or e.outvars[0] not in moved]
    inside = with_variables(
        body,
        invars=[*invars[:num_consts], *given, *invars[num_consts:]],
        outvars=outs,
        eqns=eqns,
    )
    inside, _ = pruned(inside, (True,) * len(outs), (True,) * len(inside.in_avals))
    return inside, before
