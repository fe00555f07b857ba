"""What a step of an elastic loop sees, what an observer hears, and what can't be gone on with."""

import dataclasses
from typing import Any, NamedTuple

from tans_core.mesh import Mesh

type Tree = Any  # a tree of arrays
type Device = Any


class StepFailedError(RuntimeError):
    """A step failed again and again although no process was lost."""


class StateDivergedError(RuntimeError):
    """The processes computed different states from the same one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """What one step may depend on; equal on all live processes except for `position`.

    Attributes:
      index: which step this is, from 0. Random numbers and batches are to be made from it.
      devices: the live devices, in the order of their ids.
      mesh: all of them along one axis, "data".
      count: number of live processes.
      position: place of this process among them, from 0.
      epoch: how many times connections were made anew.
    """

    index: int
    devices: tuple[Device, ...]
    mesh: Mesh
    count: int
    position: int
    epoch: int


class Report(NamedTuple):
    """What `run_elastic` tells an observer.

    Attributes:
      event: "step" after a step, "change" when processes came or went, "synced" when all have the
        same state after that, "failure" after an attempt that failed although none went, "stop"
        at a stop by SIGTERM.
      step: number of steps that are done.
      alive: the live processes.
      state: the state: NumPy arrays, or with `ShardedCheckpoints` arrays on devices.
    """

    event: str
    step: int
    alive: tuple[int, ...]
    state: Tree
