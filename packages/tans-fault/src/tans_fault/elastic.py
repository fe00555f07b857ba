"""Elastic training: a loop of steps that goes on when processes are lost, and takes them back."""

import dataclasses
import hashlib
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import ArrayImpl, tree
from tans_core.errors import JaxRuntimeError
from tans_core.mesh import Mesh
from tans_fault import epochs
from tans_fault.checkpoints import Checkpointer, dump, load
from tans_fault.coordination import CoordinationClient, Incarnations, connected_client, state
from tans_fault.machine import Machine, Phase, View, after_exchange, source_of
from tans_fault.multihost_utils import broadcast_one_to_all, whole_value
from tans_sharding import make_mesh
from tans_xla import backend, block_until_ready

type Tree = Any  # a tree of arrays
type Device = Any

# A state up to this size goes through the coordination service, a larger one by a collective.
_SMALL_BYTES: Final = 1 << 18
_MOST_FAILURES: Final = 3


class StepFailedError(RuntimeError):
    """A step failed again and again although no process was lost."""


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
      state: the state on the host.
    """

    event: str
    step: int
    alive: tuple[int, ...]
    state: Tree


def run_elastic(
    step_fn: Callable[[Step, Tree], Tree],
    initial_state: Tree,
    *,
    steps: int,
    checkpoints: Checkpointer | None = None,
    every: int = 100,
    observe: Callable[[Report], None] | None = None,
) -> Tree:
    """Apply `step_fn` `steps` times, each exactly once, on whatever processes are alive.

    All processes of a recoverable job call it in the same way; one that was started anew does too,
    and takes over the state of the others. A step that was under way when a process was lost is
    repeated from the state before it, by those that are left.

    Args:
      step_fn: called with a `Step` and the state, as NumPy arrays; returns the next state. It must
        compute the same on all processes, from nothing but its arguments.
      initial_state: tree of arrays: the state before the first step.
      steps: number of steps.
      checkpoints: where one of the processes saves the state, and where it is taken from when all
        were lost; a `Checkpoints`.
      every: steps between two checkpoints; one more is made at the end.
      observe: called on each process after each step and each change.

    Returns:
      The state after the last step, as NumPy arrays, equal bit for bit on all processes. After a
      SIGTERM to any process, the state after the step at which all stopped and saved.

    Raises:
      RuntimeError: the process is not part of a job, or the job is not recoverable.
      StepFailedError: three attempts in a row failed without the loss of a process.

    An exception of `step_fn` other than `JaxRuntimeError` is raised as it is, in that process.

    Example:
      >>> from tans_fault import run_elastic
      >>> def step(step, w): ...
      >>> def main():
      ...     return run_elastic(step, np.zeros(3), steps=100)
    """
    connected_client("run_elastic")
    if not state.recoverable:
        raise RuntimeError(
            "run_elastic: the job ends when one process is lost, and was expected to live on. "
            "Start it with distributed.initialize(recoverable=True)."
        )
    loop = _Loop(step_fn, steps, checkpoints, every, observe or _ignore)
    with _StopSignal() as stop:
        return loop.run(tree.map(np.asarray, initial_state), stop)


def _ignore(report: Report) -> None:
    pass


class _StopSignal:
    """Notes SIGTERM instead of ending; only the main thread may listen to signals."""

    def __init__(self) -> None:
        self.is_set = False
        self._previous: Any = None

    def __enter__(self) -> "_StopSignal":
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)

    def _note(self, *_: object) -> None:
        self.is_set = True


class _Loop:
    """One call of `run_elastic`."""

    def __init__(
        self,
        step_fn: Callable[[Step, Tree], Tree],
        steps: int,
        checkpoints: Checkpointer | None,
        every: int,
        observe: Callable[[Report], None],
    ) -> None:
        self.client = connected_client("run_elastic")
        self.step_fn = step_fn
        self.steps = steps
        self.checkpoints = checkpoints
        self.every = every
        self.observe = observe

        self.old_keys: list[str] = []

    def run(self, initial: Tree, stop: _StopSignal) -> Tree:
        """Run to the end."""
        backend.clients()  # meets the others, in an exchange
        stored = None if self.checkpoints is None else self.checkpoints.restore(initial)
        step, value = stored or (0, initial)
        view = _frozen(state.views[state.everyone])
        machine = Machine(Phase.SYNCING, view, step, value)
        connected = True
        while machine.phase is Phase.SYNCING or machine.step < self.steps:
            key = epochs.key_of_round()
            work, problem = self._work(machine, key, connected)
            self._tell(key, problem, stop)
            view = _frozen(epochs.exchange())
            problems, stopping = self._told(key)
            before, machine = machine, after_exchange(machine, work, view, bool(problems))
            connected = False
            self._check(machine, problem, problems)
            self._report(before, machine)
            self._forget(key, before)
            if stopping and before.phase is Phase.STEPPING and machine.step > before.step:
                self._observe("stop", machine)
                break
        self._save(machine)
        return machine.state

    def _work(
        self, machine: Machine, key: str, connected: bool
    ) -> tuple[tuple[int, Tree] | None, Exception | None]:
        """Do what the phase says; return step and state, or None and what went wrong."""
        try:
            if machine.phase is Phase.STEPPING:
                return (machine.step + 1, self._step(machine)), None
            if not connected:
                epochs.renew(dict(machine.view))
            return self._synchronise(machine, key), None
        except Exception as problem:  # told to the others first, then raised in `_check`
            return None, problem

    def _step(self, machine: Machine) -> Tree:
        live = sorted(process for process, _ in machine.view)
        devices = _devices_of(live)
        step = Step(
            machine.step,
            devices,
            make_mesh((len(devices),), ("data",), devices=devices),
            len(live),
            live.index(state.process_id),
            state.epoch,
        )
        return tree.map(_on_host, block_until_ready(self.step_fn(step, machine.state)))

    def _synchronise(self, machine: Machine, key: str) -> tuple[int, Tree]:
        """Return step and state of the process that is furthest."""
        data = dump(machine.state)
        mine = f"{machine.step} {hashlib.sha256(data).hexdigest()}"
        self.client.key_value_set(f"{key}/step/{state.process_id}", mine, allow_overwrite=True)
        epochs.meet(f"{key}/here", dict(machine.view))
        posted = self.client.key_value_dir_get(f"{key}/step")
        if len({text for _, text in posted}) == 1:
            return machine.step, machine.state
        steps = {int(k.rpartition("/")[2]): int(text.split()[0]) for k, text in posted}
        source = source_of(steps.items())
        data = _transfer(self.client, key, source, data, machine.view)
        return steps[source], load(data, machine.state)

    def _tell(self, key: str, problem: Exception | None, stop: _StopSignal) -> None:
        me = state.process_id
        if problem is not None:
            text = f"{type(problem).__name__}: {problem}"
            self.client.key_value_set(f"{key}/vote/failed/{me}", text, allow_overwrite=True)
        if stop.is_set:
            self.client.key_value_set(f"{key}/vote/stop/{me}", "", allow_overwrite=True)

    def _told(self, key: str) -> tuple[dict[int, str], bool]:
        """Return what went wrong where, and whether a process wants to stop."""
        votes = self.client.key_value_dir_get(f"{key}/vote")
        failed = {int(k.rpartition("/")[2]): text for k, text in votes if "/failed/" in k}
        return failed, any("/stop/" in k for k, _ in votes)

    def _check(self, machine: Machine, problem: Exception | None, problems: dict[int, str]) -> None:
        """Raise what the program is to see."""
        if problem is not None and not isinstance(problem, JaxRuntimeError):
            raise problem
        if machine.failures >= _MOST_FAILURES:
            lines = "".join(f"\n  process {p}: {text}" for p, text in sorted(problems.items()))
            raise StepFailedError(
                f"run_elastic: step {machine.step} failed {machine.failures} times although no "
                "process was lost; expected a step that succeeds on all. Mend what these report, "
                f"or the network between them:{lines}"
            ) from problem

    def _report(self, before: Machine, machine: Machine) -> None:
        stepped = before.phase is Phase.STEPPING and machine.step > before.step
        if stepped:
            self._observe("step", machine)
            if machine.step % self.every == 0 and machine.step < self.steps:
                self._save(machine)
        if machine.view != before.view:
            self._observe("change", machine)
        elif machine.failures > before.failures:
            self._observe("failure", machine)
        elif before.phase is Phase.SYNCING and machine.phase is Phase.STEPPING:
            self._observe("synced", machine)

    def _observe(self, event: str, machine: Machine) -> None:
        alive = tuple(sorted(process for process, _ in machine.view))
        self.observe(Report(event, machine.step, alive, machine.state))

    def _save(self, machine: Machine) -> None:
        lowest = min(process for process, _ in machine.view)
        if self.checkpoints is not None and state.process_id == lowest:
            self.checkpoints.save(machine.step, machine.state)

    def _forget(self, key: str, before: Machine) -> None:
        """Delete what the last round but one left, which nobody reads any more."""
        if before.phase is Phase.SYNCING:
            self.old_keys.append(key)
        elif self.old_keys:
            if state.process_id == min(process for process, _ in before.view):
                for old in self.old_keys:
                    self.client.key_value_delete(old)
            self.old_keys.clear()


def _frozen(view: Incarnations) -> View:
    return frozenset(view.items())


def _devices_of(processes: Sequence[int]) -> tuple[Device, ...]:
    found = [d for d in backend.devices() if d.process_index in processes]
    return tuple(sorted(found, key=lambda d: d.id))


def _on_host(leaf: Any) -> np.ndarray:
    """Return the whole value in memory of its own, which the loss of the devices leaves alone."""
    return np.array(whole_value(leaf) if isinstance(leaf, ArrayImpl) else leaf)


def _transfer(client: CoordinationClient, key: str, source: int, data: bytes, view: View) -> bytes:
    """Return the bytes of `source` on all processes of the view."""
    wait = epochs.meeting_seconds() * 1000
    is_source = state.process_id == source
    if is_source:
        client.key_value_set(f"{key}/size", str(len(data)), allow_overwrite=True)
        if len(data) <= _SMALL_BYTES:
            client.key_value_set_bytes(f"{key}/state", data, allow_overwrite=True)
    size = int(client.blocking_key_value_get(f"{key}/size", wait))
    if size <= _SMALL_BYTES:
        return client.blocking_key_value_get_bytes(f"{key}/state", wait)
    given = np.frombuffer(data, np.uint8) if is_source else np.zeros(size, np.uint8)
    devices = _devices_of([process for process, _ in view])
    return broadcast_one_to_all(given, is_source, devices=devices).tobytes()
