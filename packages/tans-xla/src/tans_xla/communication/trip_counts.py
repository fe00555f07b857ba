"""How often the body of a compiled loop runs: what XLA says, or what can be proved; never a guess.

A loop is counted when one element of its carry starts at a constant, grows by a constant in the
body and is compared with a constant in the condition.
"""

import re
from typing import Final, NamedTuple

from tans_xla.communication.hlo_text import Computation, Instruction, Module

_KNOWN: Final = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_COPIES: Final = ("copy", "bitcast", "copy-start", "copy-done")


class Frame(NamedTuple):
    """Where a computation runs: the instruction that calls it, and the frame of that."""

    computation: Computation
    caller: Instruction | None = None
    parent: "Frame | None" = None


def trip_count(module: Module, loop: Instruction, frame: Frame) -> int | None:
    """Return how often the body of a ``while`` runs each time, or None when that is not known."""
    known = _KNOWN.search(loop.attributes.get("backend_config", ""))
    if known:
        return int(known[1])
    try:
        return _prove(module, loop, frame)
    except (KeyError, StopIteration, ValueError, IndexError):
        return None


def _prove(module: Module, loop: Instruction, frame: Frame) -> int | None:
    condition = module.computations[loop.attributes["condition"].lstrip("%")]
    body = module.computations[loop.attributes["body"].lstrip("%")]
    test, test_frame = _through_fusions(module, condition.root, Frame(condition))
    if test.opcode != "compare" or len(loop.operands) != 1:
        return None
    index = _carry_index(test.operands[0], test_frame)
    limit = _constant(test.operands[1], test_frame)
    start = _element_constant(loop.operands[0], index, frame) if index is not None else None
    if index is None or limit is None or start is None:
        return None
    step = _step(module, body, index)
    if not step:
        return None
    return _count(start, limit, step, test.attributes["direction"])


def _count(start: int, limit: int, step: int, direction: str) -> int | None:
    if direction == "LE":
        direction, limit = "LT", limit + 1
    if direction == "GE":
        direction, limit = "GT", limit - 1
    if direction == "LT" and step > 0:
        return max(0, -(-(limit - start) // step))
    if direction == "GT" and step < 0:
        return max(0, -((limit - start) // -step))
    return None


def _step(module: Module, body: Computation, index: int) -> int | None:
    frame = Frame(body)
    root = body.root
    if root.opcode != "tuple":
        return None
    new = _follow(body.instructions[root.operands[index]], frame)
    add, inner = _through_fusions(module, *new)
    if add.opcode not in ("add", "subtract"):
        return None
    sign = 1 if add.opcode == "add" else -1
    pairs = [(0, 1), (1, 0)] if sign > 0 else [(0, 1)]
    for a, b in pairs:
        if _carry_index(add.operands[a], inner) == index:
            constant = _constant(add.operands[b], inner)
            return None if constant is None else sign * constant
    return None


def _through_fusions(
    module: Module, instruction: Instruction, frame: Frame
) -> tuple[Instruction, Frame]:
    while instruction.opcode in ("fusion", "call"):
        name = instruction.attributes.get("calls") or instruction.attributes["to_apply"]
        frame = Frame(module.computations[name.lstrip("%")], instruction, frame)
        instruction = frame.computation.root
        instruction, frame = _follow(instruction, frame)
    return instruction, frame


def _follow(instruction: Instruction, frame: Frame) -> tuple[Instruction, Frame]:
    """Go back through copies, and through parameters to what the caller passes."""
    while True:
        if instruction.opcode in _COPIES:
            instruction = frame.computation.instructions[instruction.operands[0]]
        elif instruction.opcode == "parameter" and frame.caller is not None:
            name = frame.caller.operands[int(instruction.literal)]
            assert frame.parent is not None
            frame = frame.parent
            instruction = frame.computation.instructions[name]
        elif instruction.opcode == "get-tuple-element":
            index = int(instruction.attributes["index"])
            source, inner = _follow(frame.computation.instructions[instruction.operands[0]], frame)
            if source.opcode != "tuple":
                return instruction, frame
            frame = inner
            instruction = frame.computation.instructions[source.operands[index]]
        else:
            return instruction, frame


def _carry_index(name: str, frame: Frame) -> int | None:
    """Return which element of the carry a value is, or None."""
    found, inner = _follow(frame.computation.instructions[name], frame)
    if found.opcode != "get-tuple-element":
        return None
    source, _ = _follow(inner.computation.instructions[found.operands[0]], inner)
    return int(found.attributes["index"]) if source.opcode == "parameter" else None


def _constant(name: str, frame: Frame) -> int | None:
    found, _ = _follow(frame.computation.instructions[name], frame)
    return int(found.literal) if found.opcode == "constant" else None


def _element_constant(name: str, index: int, frame: Frame) -> int | None:
    source, inner = _follow(frame.computation.instructions[name], frame)
    if source.opcode != "tuple":
        return None
    return _constant(source.operands[index], inner)
