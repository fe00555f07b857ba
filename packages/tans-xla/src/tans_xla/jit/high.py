"""Calls of programs that hold user primitives or values of user types, in their low form.

The low program takes and returns the arrays that values of user types are made of. Its trees have a
tuple of arrays in the place of such a value, so that options given as tree prefixes still fit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, override

from tans_core.hi_types import is_hi_type, lower_value
from tans_core.refs import AbstractRef, RefCell
from tans_core.tree import registry
from tans_xla.jit.tracing import Call, Program
from tans_xla.lo import is_high, lo_jaxpr
from tans_xla.transfer import device_put

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
            _lowered(program.closed.in_avals[: len(program.consts)], program.consts),
            _low_tree(program),
            jitted.call_info(call, program.info.traced_for),
        )
        program.low = low
    return call, program.low


def _low_call(call: Call, avals: Any) -> Call:
    parts = [
        tuple(_parts(a, x)) if is_hi_type(a) else x for a, x in zip(avals, call.leaves, strict=True)
    ]
    return call.replace(*registry.flatten(call.in_tree.unflatten(parts)))


def _lowered(avals: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    return [part for a, x in zip(avals, values, strict=True) for part in _parts(a, x)]


def _parts(aval: Any, x: Any) -> list[Any]:
    if not isinstance(x, RefCell) or not is_hi_type(aval):
        return lower_value(aval, x)
    shared: list[Any] = []
    return [_RefPart(part, x, shared, i) for i, part in enumerate(aval.lo_types())]


class _RefPart(RefCell):
    """One of the arrays that the value in a concrete ref is made of, as a ref of its own."""

    __slots__ = ("_cell", "_index", "_shared")

    def __init__(self, aval: AbstractRef, cell: RefCell, shared: list[Any], index: int) -> None:
        super().__init__(aval, None)
        self.lock = cell.lock
        self._cell = cell
        self._shared = shared
        self._index = index

    @override
    def take(self, operation: str = "the operation") -> Any:
        self._shared[:] = lower_value(self._cell.aval.inner_aval, self._cell.take(operation))
        # A copy, because the program may overwrite it, and whoever has the value keeps it.
        return device_put(self._shared[self._index], may_alias=False)

    @override
    def put(self, array: Any) -> None:
        self._shared[self._index] = array
        self._cell.put(self._cell.aval.inner_aval.raise_val(*self._shared))

    @override
    def end(self, how: str) -> None:
        self._cell.end(how)


def _low_tree(program: Program) -> Any:
    parts = [(0,) * len(a.lo_types()) if is_hi_type(a) else 0 for a in program.closed.out_avals]
    return registry.flatten(program.out_tree.unflatten(parts))[1]


def is_split(program: Program) -> bool:
    """Whether a value that goes in or out is of a user type."""
    return any(map(is_hi_type, (*program.closed.in_avals, *program.closed.out_avals)))
