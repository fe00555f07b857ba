"""Reading the tables of calls in ``rows/``, one line per kind of call.

A line is ``names ; dtypes ; template [; flags]``. ``$`` in the template stands for each name,
``{a|b}`` for each alternative, ``@d[3,5]n`` for an operand whose dtype runs over the group,
``@e`` for the next dtype of the group, ``@f32[3]`` for an operand of a fixed dtype.
"""

import itertools
import random
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "rows"
GROUPS = {
    "all": "b1 i8 i32 u8 u32 f16 bf16 f32 c64",
    "wide": "b1 i8 i16 i32 u8 u16 u32 f16 bf16 f32 c64",
    "num": "i8 i32 u8 u32 f16 bf16 f32 c64",
    "real": "b1 i8 i32 u8 u32 f16 bf16 f32",
    "order": "i8 i32 u8 u32 f16 bf16 f32",
    "int": "i8 i16 i32 u8 u16 u32",
    "bits": "b1 i8 i32 u8 u32",
    "inexact": "f16 bf16 f32 c64",
    "float": "f16 bf16 f32",
    "lin": "f32 c64",
    "some": "i32 f32 c64",
    "few": "i32 bf16 f32",
    "f32": "f32",
    "none": "",
    "x64": "i32 i64 u64 f32 f64 c128",
    "x64real": "i32 i64 u64 f32 f64",
    "f64": "f64 c128",
}
ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")
OPERAND = re.compile(r"@(\w+)\[([\d,]*)\]([a-z]?)")


@dataclass(frozen=True)
class Call:
    """One call: the text to evaluate and how to compare."""

    text: str
    name: str
    x64: bool
    elementwise: bool


def load(topic: str | None = None) -> list[Call]:
    """Return the calls of one topic, or of all, without repetitions, in order of the tables."""
    seen: dict[tuple[str, bool], Call] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        if topic is None or path.stem == topic:
            for line in path.read_text().splitlines():
                if line.strip() and not line.startswith("#"):
                    for call in expand(line):
                        seen.setdefault((call.text, call.x64), call)
    return list(seen.values())


def expand(line: str) -> list[Call]:
    """Return the calls of a line."""
    names, group, template, *rest = [part.strip() for part in line.split(" ; ")]
    flags = rest[0].split() if rest else []
    limit = next((int(f[1:]) for f in flags if f.startswith("<")), None)
    calls = []
    for name in names.split():
        texts = list(_dtyped(template.replace("$", name), GROUPS[group].split()))
        if limit is not None and len(texts) > limit:
            texts = random.Random(name + template).sample(texts, limit)
        calls += [Call(t, name, "x64" in flags, "ulp" in flags) for t in texts]
    return calls


def _dtyped(template: str, dtypes: list[str]) -> list[str]:
    found = []
    for text in _alternatives(template):
        for place, dtype in enumerate(dtypes or ["none"]):
            other = dtypes[(place + 1) % len(dtypes)] if dtypes else "none"
            found.append(_operands(text, dtype, other))
    return found


def _alternatives(template: str) -> list[str]:
    parts = ALTERNATIVES.split(template)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    texts = ["".join(choice) for choice in itertools.product(*choices)]
    # An alternative may hold alternatives.
    return [
        t for text in texts for t in (_alternatives(text) if ALTERNATIVES.search(text) else [text])
    ]


def _operands(text: str, dtype: str, other: str) -> str:
    count = itertools.count()

    def operand(match: re.Match[str]) -> str:
        kind = {"d": dtype, "e": other}.get(match[1], match[1])
        sizes = "".join(f"{n}," for n in match[2].split(",") if n)
        return f"A({kind!r}, ({sizes}), {match[3] or 'n'!r}, {next(count)})"

    return OPERAND.sub(operand, text).replace("@d", repr(dtype)).replace("@e", repr(other))
