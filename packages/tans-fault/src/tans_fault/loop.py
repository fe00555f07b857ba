"""The loop of `run_elastic`, for a state that each process holds whole."""

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ArrayImpl, tree
from tans_core.errors import JaxRuntimeError
from tans_core.tree_paths import keystr
from tans_fault import archives, epochs
from tans_fault.coordination import CoordinationClient, Incarnations, connected_client, state
from tans_fault.limits import limited
from tans_fault.machine import Machine, Phase, View, after_exchange, source_of
from tans_fault.multihost_utils import broadcast_one_to_all, whole_value
from tans_fault.steps import Report, StateDivergedError, Step, StepFailedError
from tans_sharding import make_mesh
from tans_xla import backend, block_until_ready

type Tree = Any  # a tree of arrays
type Device = Any
type Work = tuple[int, Tree]  # number of steps, and the state after them

# A state up to this size goes through the coordination service, a larger one by a collective.
_SMALL_BYTES: Final = 1 << 18
_MOST_FAILURES: Final = 3


class StopSignal:
    """Notes SIGTERM instead of ending; only the main thread may listen to signals."""

    def __init__(self) -> None:
        self.is_set = False
        self._previous: Any = None

    def __enter__(self) -> "StopSignal":
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)

    def _note(self, *_: object) -> None:
        self.is_set = True


class _Behind(Exception):  # noqa: N818  (tells the loop something, and no one else)
    """The others are in a later loop of the program."""


class Loop:
    """One call of `run_elastic`.

    Args:
      step_fn, steps, checkpoints, every, observe, longest: see `run_elastic`.
    """

    def __init__(
        self,
        step_fn: Callable[[Step, Tree], Tree],
        steps: int,
        checkpoints: Any,
        every: int,
        observe: Callable[[Report], None] | None,
        longest: float | None,
    ) -> None:
        self.client = connected_client("run_elastic")
        self.step_fn = step_fn
        self.steps = steps
        self.checkpoints = checkpoints
        self.every = every
        self.observe = observe
        self.longest = longest
        self.saved: int | None = None  # the newest step that is known to be stored
        self.used: set[str] = set()  # keys of rounds in which something was posted
        self.stale: set[str] = set()  # those that nobody reads any more after the next exchange
        state.loops += 1

    def run(self, initial: Any, stop: StopSignal) -> Tree:
        """Run to the end."""
        backend.clients()  # meets the others, in an exchange
        with limited(self.longest, "what it begins with"):
            step, value = self._first(initial)
        view = _frozen(state.views[state.everyone])
        machine = Machine(Phase.SYNCING, view, step, value)
        connected = True
        while machine.phase is Phase.SYNCING or machine.step < self.steps:
            key = epochs.key_of_round()
            work, problem = self._work(machine, key, connected)
            if isinstance(problem, _Behind):
                return self._ended_before(machine)
            self._tell(key, work, problem, stop)
            view = _frozen(epochs.exchange())
            failed, digests, stopping = self._told(key)
            before, machine = machine, after_exchange(machine, work, view, bool(failed))
            connected = False
            self._check(machine, problem, failed, digests)
            if before.phase is Phase.SYNCING or failed or digests or stopping:
                self.used.add(key)
            self._report(before, machine)
            self._forget(before)
            if stopping and before.phase is Phase.STEPPING and machine.step > before.step:
                self._observe("stop", machine)
                break
        self._end(machine)
        return machine.state

    def _first(self, initial: Tree) -> Work:
        """Return what this process begins with: its newest checkpoint, or the initial state."""
        found = tree.unflatten(
            tree.structure(initial),
            archives.leaves_on_host(initial, "run_elastic: initial_state")[1],
        )
        stored = None if self.checkpoints is None else self.checkpoints.restore(found)
        if stored is None:
            return 0, found
        self._check_step(stored[0])
        self.saved = stored[0]
        return stored

    def _check_step(self, step: int) -> None:
        if step > self.steps:
            raise ValueError(
                f"run_elastic: the newest checkpoint is of step {step}, given steps={self.steps}; "
                "expected one of no later step. Give another folder, or more steps."
            )

    def _work(
        self, machine: Machine, key: str, connected: bool
    ) -> tuple[Work | None, Exception | None]:
        """Do what the phase says; return step and state, or None and what went wrong."""
        try:
            if machine.phase is Phase.STEPPING:
                with limited(self.longest, f"step {machine.step}"):
                    return (machine.step + 1, self._step(machine)), None
            if not connected:
                epochs.renew(dict(machine.view))
            return self._synchronise(machine, key), None
        except Exception as problem:  # told to the others first, then raised in `_check`
            return None, problem

    def _step(self, machine: Machine) -> Tree:
        result = self.step_fn(step_of(machine), machine.state)
        return _like(block_until_ready(result), machine)

    def _synchronise(self, machine: Machine, key: str) -> Work:
        """Return step and state of the process that is furthest."""
        data = archives.dump(machine.state)
        digest = hashlib.sha256(data).hexdigest()
        posted = self._post(machine, key, {"step": machine.step, "digest": digest})
        nobody_is_behind = len(posted) == len(machine.view)  # who is will ask for the state later
        if nobody_is_behind and len({facts["digest"] for facts in posted.values()}) == 1:
            return machine.step, machine.state
        source = source_of((process, facts["step"]) for process, facts in posted.items())
        data = _transfer(self.client, key, source, data, machine.view)
        return posted[source]["step"], archives.load(data, machine.state)

    def _post(self, machine: Machine, key: str, facts: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """Tell the others something; return what each of them tells, this process included."""
        mine = json.dumps(facts | {"loop": state.loops, "steps": self.steps, "every": self.every})
        self.client.key_value_set(f"{key}/step/{state.process_id}", mine, allow_overwrite=True)
        epochs.meet(f"{key}/here", dict(machine.view), state.initialization_timeout)
        texts = self.client.key_value_dir_get(f"{key}/step")
        posted = {int(k.rpartition("/")[2]): json.loads(text) for k, text in texts}
        latest = max(facts["loop"] for facts in posted.values())
        if state.loops < latest:
            raise _Behind
        for name in ("steps", "every"):
            given = {p: f[name] for p, f in posted.items() if f["loop"] == latest}
            if len(set(given.values())) > 1:
                raise ValueError(
                    f"run_elastic: given {name}={getattr(self, name)} here, and by process "
                    f"{given}; expected the same on all. Call it in the same way everywhere."
                )
        return {p: f for p, f in posted.items() if f["loop"] == latest}

    def _ended_before(self, machine: Machine) -> Tree:
        """Return the last state of a loop that the others have left long ago."""
        if machine.step == self.steps:
            return machine.state
        raise RuntimeError(
            f"run_elastic: the other processes are in a later loop, and this one's newest "
            f"checkpoint is of step {machine.step}, expected step {self.steps}, the last. Give "
            "each loop of a program checkpoints in a folder of its own that all processes share."
        )

    def _tell(
        self, key: str, work: Work | None, problem: Exception | None, stop: StopSignal
    ) -> None:
        me = state.process_id
        votes: dict[str, str] = {}
        if problem is not None:
            votes["failed"] = f"{type(problem).__name__}: {problem}"
        if work is not None and (digest := self._digest(*work)):
            votes["digest"] = digest
        if stop.is_set:
            votes["stop"] = ""
        for name, text in votes.items():
            self.client.key_value_set(f"{key}/vote/{name}/{me}", text, allow_overwrite=True)

    def _digest(self, step: int, value: Tree) -> str | None:
        """Return a digest of a state that is going to be saved."""
        if step % self.every and step != self.steps:
            return None
        return hashlib.sha256(archives.dump(value)).hexdigest()

    def _told(self, key: str) -> tuple[dict[int, str], dict[int, str], bool]:
        """Return what went wrong where, digests of states, and whether a process wants to stop."""
        found: dict[str, dict[int, str]] = {"failed": {}, "digest": {}, "stop": {}}
        for path, text in self.client.key_value_dir_get(f"{key}/vote"):
            _, name, process = path.rsplit("/", 2)
            found[name][int(process)] = text
        return found["failed"], found["digest"], bool(found["stop"])

    def _check(
        self,
        machine: Machine,
        problem: Exception | None,
        failed: dict[int, str],
        digests: dict[int, str],
    ) -> None:
        """Raise what the program is to see."""
        if problem is not None and not isinstance(problem, JaxRuntimeError):
            raise problem
        if machine.failures >= _MOST_FAILURES:
            lines = "".join(f"\n  process {p}: {text}" for p, text in sorted(failed.items()))
            raise StepFailedError(
                f"run_elastic: step {machine.step} failed {machine.failures} times although no "
                "process was lost; expected a step that succeeds on all. Mend what these report, "
                f"or the network between them:{lines}"
            ) from problem
        if not failed and len(set(digests.values())) > 1:
            shown = ", ".join(f"{p}: {text[:8]}" for p, text in sorted(digests.items()))
            raise StateDivergedError(
                f"run_elastic: the states after step {machine.step} differ (digests by process "
                f"{shown}); expected the same on all. Let the step depend on nothing but its "
                "arguments, and not on info.position outside of what is summed over the mesh."
            )

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
        if self.observe is not None:
            alive = tuple(sorted(process for process, _ in machine.view))
            with limited(self.longest, f"the observer of step {machine.step}"):
                self.observe(Report(event, machine.step, alive, machine.state))

    def _save(self, machine: Machine) -> None:
        lowest = min(process for process, _ in machine.view)
        if self.checkpoints is not None and state.process_id == lowest:
            self._store(machine)

    def _store(self, machine: Machine, **how: Any) -> None:
        if self.saved != machine.step:
            with limited(self.longest, f"the checkpoint of step {machine.step}"):
                self.checkpoints.save(machine.step, machine.state, **how)
            self.saved = machine.step

    def _end(self, machine: Machine) -> None:
        """Save the last state and wait until that is done; if one dies, the next one does it."""
        key = epochs.key_of_round()
        view = dict(machine.view)
        while self.checkpoints is not None and view:
            lowest = min(view)
            if state.process_id == lowest:
                self._store(machine)
            try:
                epochs.meet(f"{key}/end/{lowest}", view, state.initialization_timeout)
            except JaxRuntimeError:
                gone = epochs.departed(view)
                view = {p: i for p, i in view.items() if gone and p not in gone}
            else:
                return

    def _forget(self, before: Machine) -> None:
        """Delete what was posted in the round before the last one: all have read it."""
        if state.process_id == min(process for process, _ in before.view):
            for old in self.stale:
                self.client.key_value_delete(old)
        self.stale, self.used = self.used, set()


def step_of(machine: Machine) -> Step:
    """Return what the next step may depend on."""
    live = sorted(process for process, _ in machine.view)
    devices = _devices_of(live)
    mesh = make_mesh((len(devices),), ("data",), devices=devices)
    position = live.index(state.process_id)
    return Step(machine.step, devices, mesh, len(live), position, state.epoch)


def _frozen(view: Incarnations) -> View:
    return frozenset(view.items())


def _devices_of(processes: Sequence[int]) -> tuple[Device, ...]:
    found = [d for d in backend.devices() if d.process_index in processes]
    return tuple(sorted(found, key=lambda d: d.id))


def _like(result: Tree, machine: Machine) -> Tree:
    """Return the result of a step in host memory; its structure must be that of the state."""
    what = f"run_elastic: step {machine.step} returned a state of which"
    check_structure(result, machine.state, machine.step)
    leaves, structure = tree.flatten_with_path(result)
    return structure.unflatten([_on_host(x, f"{what} {keystr(path)}") for path, x in leaves])


def check_structure(result: Tree, before: Tree, step: int) -> None:
    """Compare the structures and shapes of two states.

    Raises:
      TypeError: they differ.
    """
    found, expected = (
        [(keystr(path), np.shape(x)) for path, x in tree.leaves_with_path(t)]
        for t in (result, before)
    )
    if tree.structure(result) == tree.structure(before) and found == expected:
        return
    pairs = zip([*found, None], [*expected, None], strict=False)
    given, wanted = next(((a, b) for a, b in pairs if a != b), (None, None))
    raise TypeError(
        f"run_elastic: step {step} returned another tree than it was given: {_shown(given)} "
        f"instead of {_shown(wanted)}; expected the same structure and shapes. Return the whole "
        "next state."
    )


def _shown(leaf: tuple[str, tuple[int, ...]] | None) -> str:
    return "no more arrays" if leaf is None else f"state{leaf[0]} of shape {leaf[1]}"


def _on_host(leaf: Any, what: str) -> np.ndarray:
    """Return the whole value in memory of its own, which the loss of the devices leaves alone."""
    return np.array(
        archives.on_host(whole_value(leaf) if isinstance(leaf, ArrayImpl) else leaf, what)
    )


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
