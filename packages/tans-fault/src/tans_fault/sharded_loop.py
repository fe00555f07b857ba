"""The loop of `run_elastic` for a state that stays on the devices and goes through checkpoints."""

import contextlib
from typing import Any

from tans_core import ArrayImpl, tree
from tans_core.errors import JaxRuntimeError
from tans_fault import epochs
from tans_fault.coordination import state
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
        """Return the newest step that all can read, with its state."""
        posted = self._post(machine, key, {"stored": self.checkpoints.steps()})
        common = set.intersection(*(set(facts["stored"]) for facts in posted.values()))
        step = max(common, default=0)
        self._check_step(step)
        made = self.make_state(step_of(machine))
        if not common:
            self.saved = None
            return 0, block_until_ready(made)
        like = tree.map(_place_of, made)
        del made
        _, value = self.checkpoints.restore(like, step=step)
        self.saved = step
        return step, block_until_ready(value)

    def _ended_before(self, machine: Machine) -> Tree:
        if self.steps not in self.checkpoints.steps():
            return super()._ended_before(machine)
        like = tree.map(_place_of, self.make_state(step_of(machine)))
        return self.checkpoints.restore(like, step=self.steps)[1]

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
            self.checkpoints.save(machine.step, machine.state, place=place, meet=meet)
            self.saved = machine.step


def _place_of(leaf: Any) -> Any:
    """Return shape, dtype and place of an array, without its values."""
    if isinstance(leaf, ArrayImpl):
        return ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding)
    return leaf
