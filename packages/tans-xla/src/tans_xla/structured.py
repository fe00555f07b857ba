"""Structured residuals: trees of named values that a forward rule saves where they can be seen.

They are operands of equations of a linear program, somewhere inside of its calls. Rows of the
`structured` table, ``rule(ctx, eqn, jaxpr)``, say which; lifting makes each an input of the whole
program, so that it can be read and exchanged.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tans_core.jaxpr import Atom, ClosedJaxpr, Eqn, Var
from tans_core.types import AbstractValue


class Slot(NamedTuple):
    """One saved value.

    Attributes:
      atoms: what it is computed from: inputs and literals of the program.
      read: computes it from their values.
      aval: type of the input that stands for it, or None when it can only be looked at.
    """

    atoms: tuple[Atom, ...]
    read: Callable[..., Any]
    aval: AbstractValue | None


class Channel(NamedTuple):
    """What an equation saves.

    Attributes:
      eqn: the equation, reading `inputs` in place of what they stand for.
      slots: the saved values.
      inputs: new variables, one per slot with a type.
      entry: tree of positions in `slots`.
    """

    eqn: Eqn
    slots: Sequence[Slot]
    inputs: Sequence[Var]
    entry: Any


class Lifted(NamedTuple):
    """A program whose saved values are inputs.

    Attributes:
      body: ``(*ins, *slots with a type) -> outs``.
      slots: the saved values, of the program that it was made of.
      entries: one tree of positions in `slots` per equation that saves.
    """

    body: ClosedJaxpr
    slots: list[Slot]
    entries: list[Any]


class StructuredContext(Protocol):
    """What a row may ask for."""

    def lift(self, body: ClosedJaxpr) -> Lifted | None:
        """Lift the saved values of a body; None when it saves nothing."""
        ...

    def stacked(self, read: Callable[..., Any], mapped: Sequence[bool], length: int) -> Any:
        """Return `read` for all steps of a loop; operands that are not mapped are the same."""
        ...


class NotVisibleError(Exception):
    """A saved value is computed inside of the linear program, so that it is not visible."""


def same(x: Any) -> Any:
    """Return `x`: the value is an input itself."""
    return x


def outside(slot: Slot, where: dict[Any, Atom], aval: AbstractValue | None) -> Slot:
    """Return a slot of a body as one of the calling program.

    Args:
      slot: the slot.
      where: operand of the call by input of the body.
      aval: type of the slot outside.

    Raises:
      NotVisibleError: it depends on something else.
    """
    return slot._replace(atoms=tuple(operand_of(a, where) for a in slot.atoms), aval=aval)


def operand_of(atom: Atom, where: dict[Any, Atom]) -> Atom:
    """Return the operand that an input of a body stands for; literals stay.

    Raises:
      NotVisibleError: the atom is something else.
    """
    if not isinstance(atom, Var):
        return atom
    if atom not in where:
        raise NotVisibleError
    return where[atom]
