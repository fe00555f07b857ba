"""The collectives of a compiled program: one entry for each place from which one is run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from tans_xla.communication.hlo_text import (
    Instruction,
    Module,
    Source,
    elements,
    num_bytes,
)
from tans_xla.communication.replica_groups import (
    Groups,
    axes_of,
    covers_axes,
    parse_groups,
    parse_pairs,
)
from tans_xla.communication.trip_counts import Frame, trip_count

KINDS: Final = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
)
_CALLS: Final = ("calls", "to_apply", "called_computations")
# Instructions that run a whole computation once; in others, to_apply is a scalar function.
_CALLERS: Final = ("call", "fusion", "async-start", "custom-call")


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around a collective.

    Attributes:
      trips: how often what is inside runs each time; None when that can't be known.
      source: the user's line, if known.
    """

    trips: int | None
    source: Source | None


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of a compiled program.

    Attributes:
      kind: ``all-reduce``, ``all-gather``, ``reduce-scatter``, ``all-to-all``,
        ``ragged-all-to-all``, ``collective-permute`` or ``collective-broadcast``.
      axes: names of the mesh axes along which devices exchange data, in mesh order.
      whole_axes: whether each group holds all devices along `axes`; False for example for a
        permutation, or for groups that are part of an axis.
      groups: positions of the devices that exchange data, in the mesh's row-major order.
      bytes: size per device and execution: that of the operands or of the results, whichever is
        larger.
      loops: the loops around it, outermost first.
      conditional: whether it is inside a branch, and may not run.
      source: the user's line, if known.
      op_name: what the compiler calls the operation that caused it.
      name: the instruction's name.
    """

    kind: str
    axes: tuple[Any, ...]
    whole_axes: bool
    groups: tuple[tuple[int, ...], ...]
    bytes: int
    loops: tuple[Loop, ...]
    conditional: bool
    source: Source | None
    op_name: str
    name: str

    @property
    def at_most(self) -> int | None:
        """Executions per call when every branch is taken; None when a loop's count is unknown."""
        trips = [loop.trips for loop in self.loops]
        return None if None in trips else prod(t for t in trips if t is not None)

    @property
    def executions(self) -> int | None:
        """Executions per call of the program; None when that can't be known."""
        return None if self.conditional else self.at_most

    @property
    def bytes_per_call(self) -> int | None:
        """Bytes per device and call of the program; None when that can't be known."""
        return None if self.executions is None else self.executions * self.bytes


class _Walk:
    """Goes through a program in the way it runs."""

    def __init__(self, module: Module, names: Sequence[Any], sizes: Sequence[int]) -> None:
        self.module = module
        self.names = tuple(names)
        self.sizes = tuple(sizes)

    def computation(
        self, frame: Frame, loops: tuple[Loop, ...], conditional: bool
    ) -> Iterator[Collective]:
        for instruction in frame.computation:
            opcode = instruction.opcode
            kind = opcode.removesuffix("-start")
            if kind in KINDS:
                yield self.collective(instruction, kind, frame, loops, conditional)
            elif opcode == "while":
                yield from self.loop(instruction, frame, loops, conditional)
            elif opcode == "conditional":
                for name in _branches(instruction):
                    inner = Frame(self.module.computations[name])
                    yield from self.computation(inner, loops, True)
            elif opcode in _CALLERS:
                for name in _called(instruction):
                    inner = Frame(self.module.computations[name], instruction, frame)
                    yield from self.computation(inner, loops, conditional)

    def loop(
        self, instruction: Instruction, frame: Frame, loops: tuple[Loop, ...], conditional: bool
    ) -> Iterator[Collective]:
        trips = trip_count(self.module, instruction, frame)
        source = self.module.source(instruction)
        # The condition is evaluated once more than the body.
        tests = None if trips is None else trips + 1
        for name, times in (("condition", tests), ("body", trips)):
            inner = Frame(self.module.computations[instruction.attributes[name].lstrip("%")])
            around = (*loops, Loop(times, source))
            yield from self.computation(inner, around, conditional)

    def collective(
        self,
        instruction: Instruction,
        kind: str,
        frame: Frame,
        loops: tuple[Loop, ...],
        conditional: bool,
    ) -> Collective:
        groups = self.groups(instruction)
        positions = axes_of(groups, self.sizes)
        whole = kind != "collective-permute" and covers_axes(groups, self.sizes)
        return Collective(
            kind,
            tuple(self.names[i] for i in positions),
            whole,
            tuple(groups),
            _payload(instruction, frame),
            loops,
            conditional,
            self.source(instruction, frame),
            instruction.metadata.get("op_name", ""),
            instruction.name,
        )

    def groups(self, instruction: Instruction) -> Groups:
        attributes = instruction.attributes
        if "source_target_pairs" in attributes:
            return parse_pairs(attributes["source_target_pairs"])
        return parse_groups(attributes.get("replica_groups", "{}"), prod(self.sizes))

    def source(self, instruction: Instruction, frame: Frame) -> Source | None:
        """Return the line of an instruction, or of what it reads when the compiler lost its own."""
        instructions = frame.computation.instructions
        candidates = [instruction, *(instructions[n] for n in instruction.operands)]
        candidates += [i for i in frame.computation if instruction.name in i.operands]
        return next((s for s in map(self.module.source, candidates) if s is not None), None)


def _payload(instruction: Instruction, frame: Frame) -> int:
    shape = instruction.shape
    paired = instruction.opcode.endswith("-start") and instruction.opcode != "all-reduce-start"
    if paired and len(elements(shape)) > 1:
        shape = elements(shape)[1]  # the first is the operand; contexts may follow
    known = frame.computation.instructions
    operands = sum(num_bytes(known[name].shape) for name in instruction.operands)
    return max(operands, num_bytes(shape))


def _called(instruction: Instruction) -> list[str]:
    names: list[str] = []
    for key in _CALLS:
        text = instruction.attributes.get(key, "").strip("{}")
        names += [n.strip().lstrip("%") for n in text.split(",") if n.strip()]
    return names


def _branches(instruction: Instruction) -> list[str]:
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        text = attributes["branch_computations"].strip("{}")
        return [n.strip().lstrip("%") for n in text.split(",")]
    return [attributes[f"{which}_computation"].lstrip("%") for which in ("true", "false")]


def collectives_of(text: str, names: Sequence[Any], sizes: Sequence[int]) -> list[Collective]:
    """Return the collectives of a compiled program.

    Args:
      text: the optimised HLO.
      names: names of the mesh axes.
      sizes: their sizes; the product is the number of devices.
    """
    module = Module(text)
    return list(_Walk(module, names, sizes).computation(Frame(module.entry), (), False))
