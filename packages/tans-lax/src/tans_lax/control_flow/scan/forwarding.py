"""Simplifying a traced scan: what does not change is not carried, what is known is not stacked."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.jaxpr import ClosedJaxpr, Var
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import rearranged

type Value = Any


class Forwarding(NamedTuple):
    """A scan with fewer results, and where the missing ones are found.

    Attributes:
      ins: for each input of the smaller body, its index in the given one.
      outs: for each output of the smaller body, its index in the given one.
      num_consts: constants of the smaller scan.
      num_carry: carries of the smaller scan.
      sources: for each result of the given scan, (is_operand, index): an operand of the given scan,
        or a result of the smaller one.
    """

    ins: tuple[int, ...]
    outs: tuple[int, ...]
    num_consts: int
    num_carry: int
    sources: tuple[tuple[bool, int], ...]

    def body(self, given: ClosedJaxpr) -> ClosedJaxpr:
        """Return the smaller body."""
        return rearranged(given, self.ins, self.outs)

    def results(self, operands: Sequence[Value], outs: Sequence[Value]) -> list[Value]:
        """Return the results of the given scan."""
        return [operands[i] if is_operand else outs[i] for is_operand, i in self.sources]


_MEMO: Final[BodyMemo[Forwarding]] = BodyMemo()


def forwarded(body: ClosedJaxpr, num_consts: int, num_carry: int) -> Forwarding:
    """Find results that a scan need not make.

    Carries that never change become constants; results that are elements of xs as they came are
    those xs; equal results are made once.
    """
    return _MEMO.get(body, (num_consts, num_carry), lambda: _forwarded(body, num_consts, num_carry))


def _forwarded(body: ClosedJaxpr, num_consts: int, num_carry: int) -> Forwarding:
    invars, outvars = body.jaxpr.invars, body.jaxpr.outvars
    first_x = num_consts + num_carry
    fixed = [outvars[k] is invars[num_consts + k] for k in range(num_carry)]
    moved = [num_consts + k for k in range(num_carry) if fixed[k]]
    carried = [num_consts + k for k in range(num_carry) if not fixed[k]]
    elements = {v: i for i, v in enumerate(invars) if i >= first_x}
    outs = [k for k in range(num_carry) if not fixed[k]]
    sources = [
        (True, num_consts + k) if fixed[k] else (False, outs.index(k)) for k in range(num_carry)
    ]
    stacked: dict[Var, int] = {}
    for j in range(num_carry, len(outvars)):
        var = outvars[j]
        if isinstance(var, Var) and var in elements:
            sources.append((True, elements[var]))
        elif isinstance(var, Var) and var in stacked:
            sources.append((False, stacked[var]))
        else:
            if isinstance(var, Var):
                stacked[var] = len(outs)
            sources.append((False, len(outs)))
            outs.append(j)
    ins = [*range(num_consts), *moved, *carried, *range(first_x, len(invars))]
    return Forwarding(
        tuple(ins), tuple(outs), num_consts + len(moved), len(carried), tuple(sources)
    )
