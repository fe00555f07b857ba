"""Measured time per source line: one run under the profiler, read back."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tans_compiler._jaxlib import profile_events
from tans_compiler.explaining.hlo import ProgramFacts
from tans_xla import block_until_ready


class SlowLine(NamedTuple):
    """Time spent on operations that come from one line.

    Attributes:
      source: ``file:line``, or None for operations without one.
      seconds: time of these operations without those nested in them, over all threads.
      share: of the time of all operations.
      operations: names of the compiled operations, slowest first.
      fused: other lines whose operations were fused into these.
    """

    source: str | None
    seconds: float
    share: float
    operations: tuple[str, ...]
    fused: tuple[str, ...] = ()


def measure(call: Callable[[], Any], facts: ProgramFacts, count: int = 5) -> list[SlowLine] | None:
    """Run a compiled program under the profiler; return the slowest lines, slowest first.

    Returns:
      None when another profile is being taken, or the backend names no operations in profiles.
    """
    events = profile_events(lambda: block_until_ready(call()))
    if events is None:
        return None
    by_line: dict[str | None, dict[str, float]] = {}
    for name, nanoseconds in _own_times(events):
        operations = by_line.setdefault(facts.place_of(name), {})
        operations[name] = operations.get(name, 0.0) + nanoseconds * 1e-9
    total = sum(sum(operations.values()) for operations in by_line.values())
    if not total:
        return None
    lines = [
        SlowLine(
            place,
            sum(operations.values()),
            sum(operations.values()) / total,
            tuple(sorted(operations, key=lambda name: -operations[name])),
            tuple(sorted(set().union(*map(facts.fused_places, operations)) - {place})),
        )
        for place, operations in by_line.items()
    ]
    return sorted(lines, key=lambda line: -line.seconds)[:count]


def _own_times(threads: list[list[tuple[str, float, float]]]) -> Iterator[tuple[str, float]]:
    """Return each operation with its time less that of the operations inside it.

    Args:
      threads: per thread, operations as (name, start, duration) in nanoseconds.
    """
    for events in threads:
        open_: list[list[Any]] = []  # name, end, own time
        for name, start, duration in sorted(events, key=lambda e: (e[1], -e[2])):
            while open_ and open_[-1][1] <= start:
                done = open_.pop()
                yield done[0], done[2]
            if open_:
                open_[-1][2] -= duration
            open_.append([name, start + duration, duration])
        for name, _, own in open_:
            yield name, own
