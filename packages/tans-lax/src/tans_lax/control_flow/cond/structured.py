"""Structured residuals of cond: a `CondSum` of those of its branches; zeros for one not taken."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import tree
from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import Eqn, Var
from tans_core.values import typeof
from tans_lax.control_flow.cond import cond_p
from tans_lax.control_flow.cond.transposition import CondSum
from tans_lax.control_flow.programs import widened
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select_n
from tans_lax.rows import zeros_like_aval
from tans_lax.user_types import choose_p, filler_p, same_in_all_lanes
from tans_xla.structured import Channel, Slot, operand_of, same


def _cond_structured(ctx: Any, eqn: Eqn, _: Any) -> Channel | None:
    branches = eqn.params["branches"]
    lifted = [ctx.lift(b) for b in branches]
    if not any(lifted):
        return None
    index, *operands = eqn.invars
    slots = [Slot((index,), same, None)]
    entries: list[Any] = []
    inputs: list[Var] = []
    own: list[range] = []
    for b, (branch, found) in enumerate(zip(branches, lifted, strict=True)):
        first = len(inputs)
        if found is None:
            entries.append([])
            own.append(range(first, first))
            continue
        where = dict(zip(branch.jaxpr.invars, operands, strict=True))
        start = len(slots)
        for slot in found.slots:
            atoms = (index, *(operand_of(a, where) for a in slot.atoms))
            slots.append(Slot(atoms, _if_taken(b, slot.read), slot.aval))
        inputs += [Var(s.aval) for s in found.slots if s.aval is not None]
        own.append(range(first, len(inputs)))
        entries.append(tree.map(lambda i, start=start: i + start, found.entries))
    count = len(operands)
    avals = [v.aval for v in (*operands, *inputs)]
    new = tuple(
        widened(
            branch if found is None else found.body,
            [
                *range(count),
                *(count + i - mine.start if i in mine else None for i in range(len(inputs))),
            ],
            avals,
        )
        for branch, found, mine in zip(branches, lifted, own, strict=True)
    )
    params = eqn.params | {"branches": new}
    eqn = eqn.replace(params=params, invars=[*eqn.invars, *inputs])
    return Channel(eqn, slots, inputs, CondSum(0, entries))


def _if_taken(branch: int, read: Callable[..., Any]) -> Callable[..., Any]:
    def masked(index: Any, *values: Any) -> Any:
        x = read(*values)
        aval: Any = typeof(x)
        taken = eq(index, np.int32(branch))
        if is_hi_type(aval):
            return choose_p.bind(taken, filler_p.bind(aval=aval), x, **same_in_all_lanes(aval))
        return select_n(taken, zeros_like_aval(aval.strong()), x)

    return masked


STRUCTURED: Final = {cond_p: _cond_structured}
