"""The loop of `run_elastic` for a state that stays on the devices and goes through checkpoints."""

import contextlib
from typing import Any

from tans_core import ArrayImpl, tree
from tans_core.errors import JaxRuntimeError
from tans_fault import archives, epochs
from tans_fault.checkpoints import all_damaged
from tans_fault.coordination import state
from tans_fault.limits import limited
from tans_fault.loop import Loop, Work, check_structure, step_of
from tans_fault.machine import Machine
from tans_xla import ShapeDtypeStruct, block_until_ready

type Tree = Any  # a tree of arrays


class ShardedLoop(Loop):
    """A loop that goes back to the newest checkpoint whenever connections are made anew.

    `initial` is a function: it makes the first state over the mesh of a `Step`, and so says how a
    stored one is to be placed.
    """

    def run(self, initial: Any, stop: Any) -> Tree:
        """Run to the end."""
        self.make_state = initial
        return super().run(initial, stop)

    def _first(self, initial: Any) -> Work:
        return 0, None  # known when all have met

    def _step(self, machine: Machine) -> Tree:
        result = block_until_ready(self.step_fn(step_of(machine), machine.state))
        check_structure(result, machine.state, machine.step)
        return result

    def _synchronise(self, machine: Machine, key: str) -> Work:
        """Return the newest step that all can read, with its state.

        Damage of a piece is only seen by who reads it. So each says which steps it finds and which
        one it has read, until all have read the same.
        """
        found, tried = self.checkpoints.steps(), list[int]()
        work: Work | None = None
        while True:
            mine = {"stored": found, "read": None if work is None else work[0]}
            posted = self._post(machine, f"{key}/{len(tried)}", mine).values()
            common = set.intersection(*(set(facts["stored"]) for facts in posted))
            newest = max(common, default=None)
            if newest is None and tried:
                raise all_damaged("ShardedCheckpoints", self.checkpoints.folder, tried[::-1])
            if newest is None:
                self.saved = None
                with limited(self.longest, "the first state"):
                    return 0, block_until_ready(self.make_state(step_of(machine)))
            if work is not None and all(facts["read"] == newest for facts in posted):
                self.saved = newest
                return work
            self._check_step(newest)
            tried.append(newest)
            try:
                work = self._restore(machine, newest)
            except archives.DamagedError:
                found.remove(newest)
                work = None

    def _restore(self, machine: Machine, step: int) -> Work:
        with limited(self.longest, f"restoring step {step}"):
            like = tree.map(_place_of, self.make_state(step_of(machine)))
            return step, block_until_ready(self.checkpoints.restore(like, step=step)[1])

    def _ended_before(self, machine: Machine) -> Tree:
        if self.steps not in self.checkpoints.steps():
            return super()._ended_before(machine)
        return self._restore(machine, self.steps)[1]

    def _digest(self, step: int, value: Tree) -> str | None:
        return None  # no process has the whole state

    def _end(self, machine: Machine) -> None:
        self._save(machine)

    def _save(self, machine: Machine) -> None:
        if self.saved == machine.step:
            return
        live = sorted(process for process, _ in machine.view)
        place = live.index(state.process_id), len(live)
        key = epochs.key_of_round()
        self.used.add(key)
        name = f"{key}/saved/{machine.step}"
        rounds = iter("ab")
        meet = lambda: epochs.meet(f"{name}/{next(rounds)}", dict(machine.view))  # noqa: E731
        # If one is lost meanwhile, the next exchange says so, and an older checkpoint is taken.
        with contextlib.suppress(JaxRuntimeError):
            self._store(machine, place=place, meet=meet)


def _place_of(leaf: Any) -> Any:
    """Return shape, dtype and place of an array, without its values."""
    if isinstance(leaf, ArrayImpl):
        return ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding)
    return leaf
