"""The explanation of a program as text and JSON."""

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, override

from tans_compiler.explaining.hlo import Buffer
from tans_compiler.explaining.slow_lines import SlowLine
from tans_xla.communication import Communication

_WIDTH = 100


class Phase(NamedTuple):
    """One step between a function and its result; `seconds` is None when it was not taken."""

    name: str
    seconds: float | None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What a program costs, and why. Print it, or take ``to_json()``.

    Attributes:
      name: of the function.
      platform: such as ``cpu``.
      device_kind: name of the hardware.
      device_count: number of devices it runs on.
      phases: trace, lower, compile, first run and run (the fastest of five), in seconds. What was
        found in a cache has the time it took when it was made.
      not_run: why it was not run; None when it was.
      caches: ``trace`` is hit, miss or None (not known); ``compile`` is where the executable was
        found, or miss.
      equations: number of equations by primitive, those of inner jaxprs too; None for a program
        that was loaded from bytes.
      memory: bytes per device by category.
      buffers: the largest results of operations.
      flops: the compiler's count of floating-point operations; None where it gives none.
      bytes_accessed: its count of bytes read and written.
      transcendentals: its count of transcendental operations.
      instructions: instructions of the optimised program.
      fusions: number of fusions by kind.
      custom_calls: number of library calls by target.
      communication: the report of all collectives.
      slowest_lines: measured time per source line; None when it was not measured.
    """

    name: str
    platform: str
    device_kind: str
    device_count: int
    phases: tuple[Phase, ...]
    not_run: str | None
    caches: dict[str, str | None]
    equations: dict[str, int] | None
    memory: dict[str, int]
    buffers: list[Buffer]
    flops: float | None
    bytes_accessed: float | None
    transcendentals: float | None
    instructions: int
    fusions: dict[str, int]
    custom_calls: dict[str, int]
    communication: Communication
    slowest_lines: list[SlowLine] | None

    def seconds(self, phase: str) -> float | None:
        """Return the time of a phase by name; None when it was not taken.

        Raises:
          KeyError: there is no such phase.
        """
        found = {p.name: p.seconds for p in self.phases}
        if phase not in found:
            raise KeyError(
                f"seconds: given {phase!r}, expected one of {', '.join(map(repr, found))}. "
                "Write seconds('run')."
            )
        return found[phase]

    def with_caches(self, **caches: str | None) -> "Explanation":
        """Return a copy that says where things were found."""
        return dataclasses.replace(self, caches={**self.caches, **caches})

    def to_json(self, indent: int | None = 2) -> str:
        """Return all of it as JSON; null stands for what is not known."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["phases"] = {p.name: p.seconds for p in self.phases}
        fields["buffers"] = [b._asdict() for b in self.buffers]
        lines = self.slowest_lines
        fields["slowest_lines"] = None if lines is None else [line._asdict() for line in lines]
        fields["communication"] = json.loads(self.communication.to_json())
        return json.dumps(fields, indent=indent)

    @override
    def __str__(self) -> str:
        return "\n".join(line[:_WIDTH] for line in self._lines())

    def _lines(self) -> Iterator[str]:
        devices = f"{self.device_count} x {self.device_kind}"
        yield f"{self.name} on {self.platform} ({devices})"
        yield _row("time", _joined(f"{p.name} {_time(p.seconds)}" for p in self.phases))
        if self.not_run is not None:
            yield _row("", f"not run: {self.not_run}")
        found = (f"{k}: {v}" for k, v in self.caches.items() if v is not None)
        yield _row("caches", _joined(found))
        yield _row("equations", self._equations())
        fusions = sum(self.fusions.values())
        made = f"{self.instructions} instructions, {fusions} fusions"
        yield _row("compiled", made + (f" ({_counts(self.fusions)})" if fusions else ""))
        if self.custom_calls:
            yield _row("", f"library calls: {_counts(self.custom_calls)}")
        yield _row("work", self._work())
        used = (f"{k} {_size(v)}" for k, v in self.memory.items() if v)
        yield _row("memory", _joined(used) or "none")
        for i, b in enumerate(self.buffers):
            text = f"{_size(b.bytes):>10}  {b.shape} {b.operation}  {_short(b.source)}"
            yield _row("" if i else "largest", text)
        yield from self._communication_lines()
        for i, line in enumerate(self.slowest_lines or ()):
            names = ", ".join(line.operations[:3])
            fused = f" fused with {', '.join(map(_short, line.fused[:3]))}" if line.fused else ""
            text = f"{line.share:>5.0%} {_time(line.seconds):>9}  {_short(line.source)}{fused}"
            yield _row("" if i else "slowest", f"{text}  {names}")
        if self.slowest_lines is None:
            yield _row("slowest", "not measured")

    def _equations(self) -> str:
        if self.equations is None:
            return "not known"
        total = sum(self.equations.values())
        return f"{total}: {_counts(self.equations)}" if total else "none"

    def _work(self) -> str:
        if self.flops is None and self.bytes_accessed is None:
            return "the backend gives no count"
        flops, moved = self.flops or 0.0, self.bytes_accessed or 0.0
        parts = [f"{flops:,.0f} flops", f"{_size(moved)} accessed"]
        if moved:
            parts.append(f"{flops / moved:.3g} flops per byte")
        seconds = self.seconds("run")
        if seconds:
            parts.append(f"{flops / seconds * 1e-9:.3g} GFLOP/s")
        return _joined(parts)

    def _communication_lines(self) -> Iterator[str]:
        collectives = self.communication
        if not len(collectives):
            yield _row("collectives", "none")
            return
        times, total = collectives.executions(), collectives.bytes_per_call()
        summary = f"{'?' if times is None else times} per call"
        yield _row("collectives", summary + ("" if total is None else f", {_size(total)}"))
        for c in list(collectives)[:5]:
            axes = ",".join(map(str, c.axes))
            place = None if c.source is None else c.source.place
            yield _row("", f"{_size(c.bytes):>10}  {c.kind} over {axes}  {_short(place)}")


def _row(head: str, text: str) -> str:
    return f"  {head:<12}{text}"


def _joined(parts: Any) -> str:
    return ", ".join(parts)


def _counts(counts: dict[str, int], most: int = 6) -> str:
    shown = [f"{n} {name}" for name, n in list(counts.items())[:most]]
    more = len(counts) - most
    return ", ".join(shown) + (f", and {more} more" if more > 0 else "")


def _short(place: str | None) -> str:
    return "-" if place is None else os.path.basename(place)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _size(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.4g} {units[0]}"
