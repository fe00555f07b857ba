"""Calls of programs that hold user primitives or values of user types, in their low form.

The low program takes and returns the arrays that values of user types are made of. Its trees have a
tuple of arrays in the place of such a value, so that options given as tree prefixes still fit.
"""

from typing import TYPE_CHECKING, Any

from tans_core.hi_types import is_hi_type, lower_value
from tans_core.lo import is_high, lo_jaxpr, lowered
from tans_core.tree import registry
from tans_xla.jit.tracing import Call, Program

if TYPE_CHECKING:
    from tans_xla.jit.dispatch import Jitted


def low_form(jitted: "Jitted", call: Call, program: Program) -> tuple[Call, Program]:
    """Return the call and the program to execute; the given ones when the program is not high."""
    if not is_high(program.closed):
        return call, program
    avals = program.closed.in_avals[len(program.consts) :]
    if any(map(is_hi_type, avals)):
        call = _low_call(call, avals)
    if program.low is None:
        low = Program(
            lo_jaxpr(program.closed),
            lowered(program.closed.in_avals[: len(program.consts)], program.consts),
            _low_tree(program),
            jitted.call_info(call, program.info.traced_for),
        )
        program.low = low
    return call, program.low


def _low_call(call: Call, avals: Any) -> Call:
    parts = [
        tuple(lower_value(a, x)) if is_hi_type(a) else x
        for a, x in zip(avals, call.leaves, strict=True)
    ]
    return call.replace(*registry.flatten(call.in_tree.unflatten(parts)))


def _low_tree(program: Program) -> Any:
    parts = [(0,) * len(a.lo_types()) if is_hi_type(a) else 0 for a in program.closed.out_avals]
    return registry.flatten(program.out_tree.unflatten(parts))[1]


def is_split(program: Program) -> bool:
    """Whether a value that goes in or out is of a user type."""
    return any(map(is_hi_type, (*program.closed.in_avals, *program.closed.out_avals)))
