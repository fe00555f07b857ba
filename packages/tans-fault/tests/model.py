"""A model of an elastic job: processes that hold the real `Machine`, a coordinator, and failures.

A world is a tuple, so that worlds can be compared and kept in sets. One event happens at a time.
A work (a step or a synchronisation) succeeds for a process only if every member of its view has
taken part; a process may be killed before or after it has. The exchange fires when every process
that the coordinator believes to be alive is in it; a dead one is believed until it is declared dead
or replaced. The state that a step transforms is the list of the steps applied to it, each with the
view that ran it, so that two states are equal only if they have the same history.

In a *sharded* world the state is lost with every epoch, and a synchronisation takes the newest
checkpoint. A checkpoint is made when all members of a view write their pieces, before they work on.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from tans_fault.machine import Machine, Phase, after_exchange, source_of

ENTERING, WORKING, MEETING, DONE = "entering", "working", "meeting", "done"


@dataclasses.dataclass(frozen=True, slots=True)
class Proc:
    """One process: whether it lives, which start this is, and what it knows."""

    alive: bool = True
    incarnation: int = 1
    status: str = ENTERING
    machine: Machine | None = None
    work: tuple | None = None
    took_part: bool = False  # a dead process: whether it had done its share of the work


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """The job, and how many more bad events may come."""

    procs: tuple[Proc, ...]
    believed: frozenset[tuple[int, int]]
    anyone_failed: bool
    saved: tuple  # the state in the newest checkpoint
    kills: int
    joins: int
    timeouts: int
    steps: int
    sharded: bool = False

    def replace(self, p: int | None = None, proc: Proc | None = None, **changes) -> "World":
        """Return the world with one process, or other parts, changed."""
        if p is not None:
            changes["procs"] = (*self.procs[:p], proc, *self.procs[p + 1 :])
        return dataclasses.replace(self, **changes)


def initial(
    count: int, *, kills: int, joins: int, timeouts: int, steps: int, sharded: bool = False
) -> World:
    """Return a job that starts."""
    believed = frozenset((p, 1) for p in range(count))
    procs = (Proc(),) * count
    return World(procs, believed, False, (), kills, joins, timeouts, steps, sharded)


type Event = tuple[str, Callable[[], World]]  # what happens, and the world after it


def events(world: World) -> Iterator[Event]:
    """Yield everything that may happen next."""
    for p in range(len(world.procs)):
        yield from events_of(world, p)
    if can_fire(world):
        yield "exchange", partial(fire, world)
    if (state := unsaved(world)) is not None:
        yield "save", partial(world.replace, saved=state)


def unsaved(world: World) -> tuple | None:
    """Return a state that all its holders can store now; None if there is none."""
    for proc in world.procs if world.sharded else ():
        machine = proc.machine
        if machine is None or machine.phase is not Phase.STEPPING:
            continue
        members = [(world.procs[q], i) for q, i in machine.view]
        together = all(m.alive and m.incarnation == i and m.machine == machine for m, i in members)
        working = all(m.status == WORKING for m, _ in members)
        if together and working and machine.step > len(world.saved):
            return machine.state
    return None


def events_of(world: World, p: int) -> Iterator[Event]:
    """Yield what may happen to one process."""
    proc = world.procs[p]
    if proc.alive:
        yield from _own_events(world, p, proc)
        return
    if (p, proc.incarnation) in world.believed:
        yield f"declare {p}", partial(declare, world, p)
    if world.joins and any(q.status != DONE for q in world.procs):
        yield f"join {p}", partial(_join, world, p)


def random_event(world: World, choose: Random) -> Event | None:
    """Return something that may happen, to a random process if it can; None at the end."""
    if (state := unsaved(world)) is not None and choose.random() < 0.5:
        return "save", partial(world.replace, saved=state)
    order = list(range(len(world.procs)))
    choose.shuffle(order)
    for p in order:
        options = list(events_of(world, p))
        if options:
            return choose.choice(options)
    return ("exchange", partial(fire, world)) if can_fire(world) else None


def declare(world: World, p: int) -> World:
    """Return the world in which a dead process is known to be."""
    return world.replace(believed=world.believed - {(p, world.procs[p].incarnation)})


def _join(world: World, p: int) -> World:
    old = world.procs[p].incarnation
    believed = world.believed - {(p, old)} | {(p, old + 1)}
    return world.replace(p, Proc(incarnation=old + 1), believed=believed, joins=world.joins - 1)


def _own_events(world: World, p: int, proc: Proc) -> Iterator[Event]:
    if proc.status == DONE:
        return
    if proc.status == ENTERING:
        yield f"enter {p}", partial(enter, world, p)
    if proc.status == WORKING:
        if can_succeed(world, proc):
            yield f"succeed {p}", partial(succeed, world, p)
        if world.timeouts or anyone_gone(world, proc):
            yield f"fail {p}", partial(fail, world, p)
    if world.kills:
        for share in (False, True) if proc.status == WORKING else (proc.status == MEETING,):
            yield f"kill {p} {share}", partial(_kill, world, p, share)


def enter(world: World, p: int) -> World:
    """Return the world in which a new process is in the exchange."""
    return world.replace(p, dataclasses.replace(world.procs[p], status=MEETING))


def _kill(world: World, p: int, took_part: bool) -> World:
    dead = dataclasses.replace(world.procs[p], alive=False, took_part=took_part)
    return world.replace(p, dead, kills=world.kills - 1)


def can_succeed(world: World, proc: Proc) -> bool:
    """Whether everyone in the view has taken part in the work, or still can."""
    members = [(world.procs[q], i) for q, i in proc.machine.view]
    return all(m.incarnation == i and (m.alive or m.took_part) for m, i in members)


def anyone_gone(world: World, proc: Proc) -> bool:
    """Whether someone in the view is dead or replaced."""
    members = [(world.procs[q], i) for q, i in proc.machine.view]
    return any(m.incarnation != i or not m.alive for m, i in members)


def succeed(world: World, p: int) -> World:
    """Return the world in which the work of a process succeeded."""
    proc = world.procs[p]
    return world.replace(
        p, dataclasses.replace(proc, status=MEETING, work=_result(world, proc.machine))
    )


def fail(world: World, p: int) -> World:
    """Return the world in which the work of a process failed, by a loss or a timeout."""
    proc = world.procs[p]
    left = world.timeouts - (not anyone_gone(world, proc))
    failed = dataclasses.replace(proc, status=MEETING, work=None)
    return world.replace(p, failed, anyone_failed=True, timeouts=left)


def _result(world: World, machine: Machine) -> tuple:
    if machine.phase is Phase.STEPPING:
        return machine.step + 1, (*machine.state, (machine.step + 1, machine.view))
    if world.sharded:
        return len(world.saved), world.saved
    others = {q: world.procs[q].machine for q, _ in machine.view}
    source = others[source_of((q, m.step) for q, m in others.items())]
    return source.step, source.state


def can_fire(world: World) -> bool:
    """Whether everyone who is believed to be alive is in the exchange."""
    there = [world.procs[p] for p, _ in world.believed]
    return any(p.alive for p in there) and all(p.status == MEETING for p in there)


def fire(world: World) -> World:
    """Return the world after the exchange."""
    view, procs, believed, saved = world.believed, list(world.procs), world.believed, world.saved
    for p, _ in world.believed:
        proc = procs[p]
        machine = proc.machine
        if machine is None:
            machine = Machine(Phase.SYNCING, view, len(world.saved), world.saved)
        else:
            machine = after_exchange(machine, proc.work, view, world.anyone_failed)
        ends = machine.phase is Phase.STEPPING and machine.step == world.steps
        status = DONE if ends else WORKING
        procs[p] = dataclasses.replace(proc, machine=machine, status=status, work=None)
        if ends and proc.alive:
            believed -= {(p, proc.incarnation)}
            if not world.sharded or all(procs[q].alive for q, _ in view):
                saved = machine.state
    return world.replace(procs=tuple(procs), believed=believed, anyone_failed=False, saved=saved)


def check(before: World, event: str, world: World) -> None:
    """Assert what must hold after an event; only the exchange commits anything."""
    if event != "exchange":
        return
    live = [p.machine for p in world.procs if p.alive and p.machine is not None]
    for machine in live:
        assert [s for s, _ in machine.state] == list(range(1, machine.step + 1)), event
    # A sharded state is gone as soon as its holder synchronises.
    holding = [m for m in live if m.phase is Phase.STEPPING or not world.sharded]
    by_step = {m.step: m.state for m in holding}
    assert all(by_step[m.step] == m.state for m in holding), f"{event}: states differ"
    working = [p.machine for p in world.procs if p.alive and p.status == WORKING]
    stepping = [m for m in working if m.phase is Phase.STEPPING]
    assert len({m.view for m in stepping}) <= 1, "two views at work"
    assert len({(m.step, m.state) for m in stepping}) <= 1, "steps differ"
    held = [p.machine.step for p in before.procs if p.alive and p.machine is not None]
    kept = [len(before.saved)] if world.sharded else held
    now = [m.step for m in live]
    assert not kept or max(now) >= max(kept), "a committed step was lost"
    known = [p.machine.step for p in before.procs if p.machine is not None]
    assert max(now) <= max([*known, len(before.saved)]) + 1, "a step was skipped"


def progress(world: World) -> World | None:
    """Return the next world when nothing bad happens any more; None when all is done."""
    for p, proc in enumerate(world.procs):
        if not proc.alive and (p, proc.incarnation) in world.believed:
            return declare(world, p)
        if proc.alive and proc.status == ENTERING:
            return enter(world, p)
        if proc.alive and proc.status == WORKING:
            return succeed(world, p) if can_succeed(world, proc) else fail(world, p)
    if can_fire(world):
        return fire(world)
    assert all(p.status == DONE for p in world.procs if p.alive), "stuck"
    return None
