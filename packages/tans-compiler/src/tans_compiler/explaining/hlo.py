"""What the text of an optimised program says: buffers, fusions, source lines."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tans_xla.communication import hlo_text

# Operations whose result is no memory of its own.
_VIEWS: Final = frozenset(
    "bitcast get-tuple-element tuple parameter while conditional call constant "
    "after-all opt-barrier all-gather-done all-reduce-done copy-done".split()
)


class Buffer(NamedTuple):
    """The result of one operation of the compiled program.

    Attributes:
      bytes: its size on one device.
      shape: such as ``f32[512,512]``.
      operation: the compiler's opcode.
      name: the scopes it was traced in and the operation it came from.
      source: the user's line, as ``file:line``; None when it is not known.
    """

    bytes: int
    shape: str
    operation: str
    name: str
    source: str | None


class ProgramFacts:
    """Facts about an optimised module.

    Args:
      text: the module's text.
    """

    def __init__(self, text: str) -> None:
        self.module = hlo_text.Module(text)
        fused = set(_called(self.module, "fusion", "calls"))
        applied = set(_called(self.module, None, "to_apply"))
        self._run = [
            c for name, c in self.module.computations.items() if name not in fused | applied
        ]
        self._places: dict[str, str | None] = {}

    @property
    def instruction_count(self) -> int:
        """How many instructions the module has, those inside of fusions too."""
        return sum(len(c.instructions) for c in self.module.computations.values())

    def place(self, instruction: Any) -> str | None:
        """Return the user's line of an instruction as ``file:line``."""
        source = self.module.source(instruction)
        return None if source is None else source.place

    def place_of(self, name: str) -> str | None:
        """Return the user's line of the instruction with this name."""
        if not self._places:
            for computation in self.module.computations.values():
                for instruction in computation:
                    self._places[instruction.name] = self.place(instruction)
        return self._places.get(name)

    def fused_places(self, name: str) -> set[str]:
        """Return the user's lines of what the fusion with this name consists of."""
        for computation in self._run:
            fusion = computation.instructions.get(name)
            if fusion is not None and fusion.opcode == "fusion":
                body = self.module.computations[fusion.attributes["calls"].lstrip("%")]
                return {place for i in body if (place := self.place(i)) is not None}
        return set()

    def operations(self) -> Iterator[Any]:
        """Return the instructions that run as such, not as parts of a fusion."""
        for computation in self._run:
            yield from computation

    def largest_buffers(self, count: int = 5) -> list[Buffer]:
        """Return the largest results that operations write, largest first."""
        found = [
            Buffer(
                hlo_text.num_bytes(i.shape),
                re.sub(r"\{[^}]*\}", "", i.shape),
                i.opcode,
                i.metadata.get("op_name", ""),
                self.place(i),
            )
            for i in self.operations()
            if i.opcode not in _VIEWS
        ]
        return sorted(found, key=lambda b: -b.bytes)[:count]

    def fusions(self) -> dict[str, int]:
        """Return how many fusions there are, by kind."""
        kinds = [i.attributes.get("kind", "?") for i in self.operations() if i.opcode == "fusion"]
        return {kind.removeprefix("k").lower(): kinds.count(kind) for kind in sorted(set(kinds))}

    def custom_calls(self) -> dict[str, int]:
        """Return how often library functions are called, by target."""
        targets = [
            i.attributes.get("custom_call_target", "?").strip('"')
            for i in self.operations()
            if i.opcode == "custom-call"
        ]
        return {target: targets.count(target) for target in sorted(set(targets))}


def _called(module: Any, opcode: str | None, attribute: str) -> Iterator[str]:
    for computation in module.computations.values():
        for instruction in computation:
            called = instruction.attributes.get(attribute)
            is_call = instruction.opcode == "call"
            if called and not is_call and opcode in (None, instruction.opcode):
                yield called.lstrip("%")
