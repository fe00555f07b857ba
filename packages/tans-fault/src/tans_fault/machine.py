"""The state machine of elastic training, without processes, devices or a network.

Each process holds a `Machine`. It does what the phase says (a step, or making its state equal to
the others'), then all live processes meet in one exchange, which tells each the same: who is alive
now, and whether anyone's work failed. `after_exchange` says what follows. Because the exchange is
the only place where anything is committed, and its answer is the same for all, processes that were
in the same view take the same decision. ``tests/model.py`` explores it.
"""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Any

type View = frozenset[tuple[int, int]]  # (process, incarnation) of the live processes
type State = Any  # what the steps transform


class Phase(enum.Enum):
    """What a process does until the next exchange."""

    SYNCING = "make connections anew and take over the state of whoever is furthest"
    STEPPING = "run one step"


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """What one process knows.

    Attributes:
      phase: what it does until the next exchange.
      view: who takes part.
      step: number of steps that are committed.
      state: the state after them.
      failures: failed attempts at the next step in which nobody was lost.
    """

    phase: Phase
    view: View
    step: int
    state: State
    failures: int = 0


def after_exchange(
    machine: Machine, work: tuple[int, State] | None, view: View, anyone_failed: bool
) -> Machine:
    """Return what a process does next.

    Args:
      machine: what it knew before.
      work: step and state that its work led to; None if it failed.
      view: who is alive, from the exchange.
      anyone_failed: whether the work of a process that took part failed.

    The work is committed if it succeeded everywhere and everyone who took part is still there. If
    then nobody has joined either, the next step runs, else all synchronise.
    """
    done = work is not None and not anyone_failed and machine.view <= view
    step, state = work if done and work is not None else (machine.step, machine.state)
    ready = done and view == machine.view
    lost = not machine.view <= view
    stepped = done and machine.phase is Phase.STEPPING
    failures = 0 if stepped or lost else machine.failures + (not done)
    return Machine(Phase.STEPPING if ready else Phase.SYNCING, view, step, state, failures)


def source_of(steps: Iterable[tuple[int, int]]) -> int:
    """Return the process whose state all take over: the furthest, of these the lowest.

    Args:
      steps: (process, step) of each.
    """
    return max(steps, key=lambda item: (item[1], -item[0]))[0]
