"""The state machine of elastic training, explored."""

import random

import model
import pytest
from model import World

from tans_fault.machine import Machine, Phase, after_exchange, source_of

A, B = (0, 1), (1, 1)


def explore(first: World) -> int:
    """Visit every world that can be reached; return how many there are."""
    seen, todo, ends_well = {first}, [first], set()
    while todo:
        world = todo.pop()
        _check_progress(world, ends_well)
        for event, happen in model.events(world):
            following = happen()
            model.check(world, event, following)
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return len(seen)


def _check_progress(world: World, ends_well: set[World]) -> None:
    """Assert that the job ends if nothing bad happens from here on."""
    path = []
    while world is not None and world not in ends_well:
        assert len(path) < 500, "no end"
        path.append(world)
        world = model.progress(world)
    ends_well.update(path)


@pytest.mark.parametrize(
    ("kills", "joins", "timeouts", "steps"), [(1, 1, 1, 2), (0, 0, 3, 3), (2, 1, 0, 2)]
)
def test_every_interleaving_of_three_processes(kills, joins, timeouts, steps):
    first = model.initial(3, kills=kills, joins=joins, timeouts=timeouts, steps=steps)
    assert explore(first) > 500


@pytest.mark.parametrize(
    ("kills", "joins", "timeouts", "steps"), [(1, 1, 0, 2), (0, 0, 2, 3), (2, 0, 1, 2)]
)
def test_every_interleaving_of_three_processes_that_share_a_state(kills, joins, timeouts, steps):
    options = {"kills": kills, "joins": joins, "timeouts": timeouts, "steps": steps}
    assert explore(model.initial(3, **options, sharded=True)) > 500


@pytest.mark.faults
@pytest.mark.parametrize(
    ("kills", "joins", "timeouts", "steps"), [(2, 2, 1, 2), (3, 3, 0, 2), (1, 2, 2, 3)]
)
def test_every_interleaving_with_more_failures(kills, joins, timeouts, steps):
    first = model.initial(3, kills=kills, joins=joins, timeouts=timeouts, steps=steps)
    assert explore(first) > 10_000


@pytest.mark.parametrize("part", range(5))
def test_random_schedules(part):
    """10,000 with a state that each holds whole, and 2,500 more with a shared one."""
    for seed in range(2500 * part, 2500 * (part + 1)):
        choose = random.Random(seed)
        count = choose.choice([2, 3, 4, 5])
        options = {"kills": 5, "joins": 5, "timeouts": 2, "steps": 6, "sharded": part == 4}
        world = model.initial(count, **options)
        while (chosen := model.random_event(world, choose)) is not None:
            following = chosen[1]()
            model.check(world, chosen[0], following)
            world = following
        assert all(p.status == model.DONE for p in world.procs if p.alive), seed


def test_a_machine_that_ignores_votes_is_caught(monkeypatch):
    def forgetful(machine, work, view, anyone_failed):
        return after_exchange(machine, work, view, False)

    monkeypatch.setattr(model, "after_exchange", forgetful)
    with pytest.raises(AssertionError):
        explore(model.initial(2, kills=0, joins=0, timeouts=1, steps=2))


def test_a_machine_that_commits_although_one_was_lost_is_caught(monkeypatch):
    def hasty(machine, work, view, anyone_failed):
        survivors = frozenset(machine.view & view)
        own = Machine(machine.phase, survivors, machine.step, machine.state)
        return after_exchange(own, work, view, False)

    monkeypatch.setattr(model, "after_exchange", hasty)
    with pytest.raises(AssertionError):
        explore(model.initial(3, kills=1, joins=0, timeouts=0, steps=2))


def test_a_step_is_committed_only_when_all_did_it_and_are_there():
    both, one = frozenset({A, B}), frozenset({A})
    before = Machine(Phase.STEPPING, both, 3, "s3")
    work = (4, "s4")
    assert after_exchange(before, work, both, False) == Machine(Phase.STEPPING, both, 4, "s4")
    assert after_exchange(before, work, one, False) == Machine(Phase.SYNCING, one, 3, "s3")
    assert after_exchange(before, work, both, True) == Machine(Phase.SYNCING, both, 3, "s3", 1)
    more = both | {(2, 7)}
    assert after_exchange(before, work, more, False) == Machine(Phase.SYNCING, more, 4, "s4")


def test_the_source_is_the_furthest_and_of_these_the_lowest():
    assert source_of([(0, 0), (1, 5), (2, 5)]) == 1
