"""Reading the text of compiled programs: computations, instructions, shapes, source lines.

XLA's Python objects give a module's computations but not their instructions, so the text is the
one complete source. The grammar is that of `HloModule.to_string` of jaxlib 0.12.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_COMPUTATION: Final = re.compile(r"(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) (?:\(.*\) -> .* )?\{$")
_INSTRUCTION: Final = re.compile(r"  (?P<root>ROOT )?%?(?P<name>[\w.\-]+) = ")
_ARRAY: Final = re.compile(r"\b([a-z]+\d*[a-z0-9]*)\[([0-9,<=]*)\]")
_FIELD: Final = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^\s}]+)")
_OPEN: Final = "([{"
_CLOSE: Final = ")]}"


class Source(NamedTuple):
    """A line of the program that was compiled."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})" if self.function else self.place

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


class Instruction(NamedTuple):
    """One instruction.

    Attributes:
      name: its name.
      shape: text of its result's shape.
      opcode: such as ``all-reduce`` or ``while``.
      operands: names of its operands.
      literal: the text between the parentheses.
      attributes: name to text.
      is_root: whether it is the computation's result.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    literal: str
    attributes: dict[str, str]
    is_root: bool

    @property
    def metadata(self) -> dict[str, str]:
        """Fields of the metadata, such as ``op_name``."""
        return {k: v.strip('"') for k, v in _FIELD.findall(self.attributes.get("metadata", ""))}


class Computation:
    """A computation: its instructions by name, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.instructions: dict[str, Instruction] = {}

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions.values())

    @property
    def root(self) -> Instruction:
        """The instruction that is the result."""
        return next(i for i in reversed(self.instructions.values()) if i.is_root)

    def parameter(self, index: int) -> Instruction:
        """Return the instruction of a parameter."""
        return next(i for i in self if i.opcode == "parameter" and int(i.literal) == index)


class Module:
    """A compiled module.

    Attributes:
      computations: by name.
      entry: where execution starts.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, Computation] = {}
        self._tables: dict[str, dict[int, str]] = {}
        current: Computation | None = None
        table: dict[int, str] | None = None
        for line in text.splitlines():
            if current is not None:
                if line == "}":
                    current = None
                elif found := parse_instruction(line):
                    current.instructions[found.name] = found
            elif header := _COMPUTATION.match(line):
                current = self.computations[header["name"]] = Computation(header["name"])
                if header["entry"]:
                    self.entry = current
            elif line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
                table = self._tables[line] = {}
            elif table is not None and (row := re.match(r"(\d+) (.*)", line)):
                table[int(row[1])] = row[2]

    def source(self, instruction: Instruction) -> Source | None:
        """Return the innermost line of the user's program behind an instruction, if it is known."""
        fields = instruction.metadata
        if "source_file" in fields:
            return Source(fields["source_file"], int(fields.get("source_line", 0)), "")
        frame = self._row("StackFrames", fields.get("stack_frame_id"))
        place = self._row("FileLocations", frame.get("file_location_id"))
        if not place:
            return None
        file = self._tables["FileNames"][int(place["file_name_id"])].strip('"')
        function = self._tables["FunctionNames"][int(place["function_name_id"])].strip('"')
        return Source(file, int(place["line"]), function)

    def _row(self, table: str, key: str | None) -> dict[str, str]:
        text = self._tables.get(table, {}).get(int(key), "") if key else ""
        return dict(_FIELD.findall(text))


def parse_instruction(line: str) -> Instruction | None:
    """Read one line; None when it is no instruction."""
    head = _INSTRUCTION.match(line)
    if head is None:
        return None
    rest = line[head.end() :]
    end = _closing(rest, 0) + 1 if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].lstrip()
    start = rest.index("(")
    end = _closing(rest, start)
    literal = rest[start + 1 : end]
    names = [part.split()[-1].lstrip("%") for part in split(literal) if part.strip()]
    attributes = {}
    for part in split(rest[end + 1 :].lstrip(", ")):
        name, _, value = part.strip().partition("=")
        attributes[name] = value
    opcode = rest[:start]
    return Instruction(
        head["name"], shape, opcode, tuple(names), literal, attributes, bool(head["root"])
    )


def _closing(text: str, start: int) -> int:
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (c in _OPEN) - (c in _CLOSE)
            if depth == 0:
                return i
    raise ValueError(f"unbalanced brackets in the compiled program's text: {text[start:]!r}")


def split(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts, start, depth, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif not quoted:
            depth += (c in _OPEN) - (c in _CLOSE)
            if c == "," and depth == 0:
                parts.append(text[start:i])
                start = i + 1
    parts.append(text[start:])
    return parts


def elements(shape: str) -> list[str]:
    """Return the elements of a tuple's shape; an array's shape is its own only element."""
    if not shape.startswith("("):
        return [shape]
    return [re.sub(r"/\*.*?\*/", "", part).strip() for part in split(shape[1:-1])]


def num_bytes(shape: str) -> int:
    """Return the size in bytes of all arrays of a shape."""
    return sum(_array_bytes(dtype, dims) for dtype, dims in _ARRAY.findall(shape))


def _array_bytes(dtype: str, dims: str) -> int:
    bits: Any = 8 if dtype == "pred" else re.search(r"\d+", dtype)
    if bits is None:
        return 0  # tokens and opaque values
    count = 1
    for size in dims.split(","):
        count *= int(size.lstrip("<=")) if size else 1
    return -(-count * (bits if dtype == "pred" else int(bits[0])) // 8)
