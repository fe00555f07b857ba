"""Reads instructions of optimised programs from protobuf messages.

The text of a program does not quote all values of attributes, and is ambiguous where one holds
braces or ends of lines. Numbers of fields are those of XLA's ``hlo.proto`` and ``xla_data.proto``;
messages are encoded as protobuf.dev/programming-guides/encoding says.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_COMPUTATIONS: Final = 3  # of a module
_INSTRUCTIONS: Final = 2  # of a computation
_NAME, _OPCODE, _METADATA, _ATTRIBUTES = 1, 2, 7, 68  # of an instruction
_OP_NAME: Final = 2  # of metadata
_ENTRIES: Final = 1  # of attributes; an entry has a key (1) and a value (2)
_FIXED: Final = {1: 8, 5: 4}  # bytes by kind


class Instruction(NamedTuple):
    """An instruction.

    Attributes:
      name: its name in the program.
      opcode: such as ``sine``.
      op_name: the scopes it was traced in.
      attributes: its frontend attributes, text.
    """

    name: str
    opcode: str
    op_name: str
    attributes: dict[str, str]


def instructions(module: bytes) -> Iterator[Instruction]:
    """Return the instructions of a module in protobuf's encoding."""
    for computation in _all(module, _COMPUTATIONS):
        for message in _all(computation, _INSTRUCTIONS):
            fields = dict(_fields(message))
            entries = [dict(_fields(e)) for e in _all(fields.get(_ATTRIBUTES, b""), _ENTRIES)]
            yield Instruction(
                _text(fields, _NAME),
                _text(fields, _OPCODE),
                _text(dict(_fields(fields.get(_METADATA, b""))), _OP_NAME),
                {_text(entry, 1): _text(entry, 2) for entry in entries},
            )


def _text(fields: dict[int, Any], number: int) -> str:
    return bytes(fields.get(number, b"")).decode("utf-8", "replace")


def _all(message: Any, number: int) -> Iterator[memoryview]:
    return (value for found, value in _fields(message) if found == number)


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Return numbers and values of fields: bytes, or ints for those that are no bytes."""
    data, at = memoryview(message), 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
        else:
            size, at = (_FIXED[kind], at) if kind in _FIXED else _varint(data, at)
            yield number, data[at : at + size]
            at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that starts at a place, seven bits a byte, and where it ends."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1
