"""Eight virtual CPU devices, a mesh in context, and the collectives of compiled programs."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import tans
from tans_core import config_module as config
from tans_core.mesh import Mesh
from tans_sharding import make_mesh, set_mesh

config.update("jax_num_cpu_devices", 8)


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A mesh of explicit axes X (2) and Y (4), set for the test."""
    found = make_mesh((2, 4), ("X", "Y"))
    set_mesh(found)
    yield found
    set_mesh(None)


@pytest.fixture
def collectives() -> Callable[..., list[tuple[str, tuple[int, ...]]]]:
    """Function of a program and its arguments: collectives with the trip counts around them."""
    return lambda fun, *args: [tuple(c) for c in _collectives_of(_compiled_text(fun, *args))]


@pytest.fixture
def counts() -> Callable[..., dict[str, int]]:
    """Function of a program and its arguments: executions of each kind of collective per call."""
    return _counts


KINDS = "all-reduce reduce-scatter all-gather all-to-all collective-permute".split()


class Collective(NamedTuple):
    """One collective: its kind, and the trip counts of the loops around it, outermost first."""

    kind: str
    trips: tuple[int, ...]

    @property
    def executions(self) -> int:
        """How often it runs per call of the program."""
        count = 1
        for trip in self.trips:
            count *= trip
        return count


def _compiled_text(fun: Any, *args: Any) -> str:
    """Return the optimised HLO of a function at given arguments."""
    return tans.jit(fun).lower(*args).compile().as_text()


def _collectives_of(text: str) -> list[Collective]:
    """Return the collectives of a module, each once per place that calls its computation."""
    computations = _computations(text)
    entry = next(name for name, lines in computations.items() if lines[0].startswith("ENTRY"))
    return list(_walk(computations, entry, ()))


def _counts(fun: Any, *args: Any) -> dict[str, int]:
    """Return how often each kind of collective runs per call."""
    total: dict[str, int] = {}
    for found in _collectives_of(_compiled_text(fun, *args)):
        total[found.kind] = total.get(found.kind, 0) + found.executions
    return total


def _computations(text: str) -> dict[str, list[str]]:
    computations: dict[str, list[str]] = {}
    for line in text.splitlines():
        header = re.match(r"(?:ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$", line)
        if header:
            current = computations[header[1]] = [line]
        elif line.startswith("  "):
            current.append(line)
    return computations


def _walk(computations: dict[str, list[str]], name: str, trips: tuple[int, ...]) -> Any:
    for line in computations[name][1:]:
        kind = next((k for k in KINDS if re.search(rf" {k}(?:-start)?\(", line)), None)
        if kind is not None:
            yield Collective(kind, trips)
        if " while(" in line:
            body = re.search(r"body=%?([\w.-]+)", line)
            trip = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
            assert body is not None
            assert trip is not None, f"no trip count in {line}"
            yield from _walk(computations, body[1], (*trips, int(trip[1])))
        for called in re.findall(r"(?:calls|to_apply)=%?([\w.-]+)", line):
            if " all-reduce" not in line and called in computations:
                yield from _walk(computations, called, trips)
