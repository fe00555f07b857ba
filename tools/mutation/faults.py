"""Finding places where a rule can be made wrong, and making it wrong.

A fault is one replacement of source text in a column file: an operand swapped, a sign lost, a
conjugate left out, a number off by one, a weak type dropped, a comparison or a choice turned round.
"""

import ast
import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_EQUIVALENT = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())
COLUMNS = ("types.py", "derivatives.py", "batching.py", "sharding.py", "lowering.py")
_OPPOSITE = {"add": "sub", "sub": "add", "mul": "div", "div": "mul", "max": "min", "min": "max",
             "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "sin": "cos", "cos": "sin",
             "exp": "expm1", "log": "log1p", "floor": "ceil"}  # fmt: skip
_LOST = frozenset({"neg", "conj", "square", "sqrt", "reciprocal", "instantiate_zeros"})
_SWAPPED = frozenset({"sub", "div", "pow", "select", "atan2", "rem", "complex"})
_TURNED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


@dataclass(frozen=True)
class Fault:
    """One replacement in one file."""

    path: str
    kind: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def place(self) -> str:
        """The module's path and the line."""
        return f"{self.path.split('src/')[-1]}:{self.line}"

    def apply(self, root: Path) -> str:
        """Write the faulty file; return the sound text."""
        file = root / self.path
        sound = file.read_text()
        data = sound.encode()
        file.write_bytes(data[: self.start] + self.new.encode() + data[self.end :])
        return sound


def equivalent(fault: Fault) -> str:
    """Return why a fault changes nothing, or an empty text where it may change something."""
    return _EQUIVALENT.get(fault.path.split("src/")[-1], {}).get(fault.new, "")


def sample(root: Path, count: int, seed: int) -> list[Fault]:
    """Return faults, spread over the columns; a change elsewhere leaves the others chosen.

    They are `count` without those that are known to change nothing, which are among them.
    """
    found: dict[str, list[Fault]] = {column: [] for column in COLUMNS}
    for path in sorted(root.glob("packages/*/src/**/*.py")):
        if path.name in COLUMNS:
            found[path.name] += faults_of(path.read_text(), str(path.relative_to(root)))
    for places in found.values():
        _shuffle(places, seed)
    chosen: list[Fault] = []
    while count and any(found.values()):
        for column in COLUMNS:
            if found[column] and count:
                chosen.append(found[column].pop())
                count -= not equivalent(chosen[-1])
    return chosen


def _shuffle(places: list[Fault], seed: int) -> None:
    """Sort by a hash of the seed, the file, the change and how often it came before."""
    seen: Counter[tuple[str, str, str]] = Counter()
    order: dict[Fault, bytes] = {}
    for fault in places:
        change = (fault.path, fault.old, fault.new)
        order[fault] = hashlib.sha256(repr((seed, change, seen[change])).encode()).digest()
        seen[change] += 1
    places.sort(key=order.__getitem__)


def faults_of(text: str, path: str) -> list[Fault]:
    """Return all faults that a file can be given."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def span(node: ast.AST) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    out = []
    for node in ast.walk(_without_messages(ast.parse(text))):
        for kind, target, new in _changes(node, text):
            start, end = span(target)
            old = text.encode()[start:end].decode()
            if old != new:
                out.append(Fault(path, kind, node.lineno, start, end, old, new))
    return out


def _without_messages(tree: ast.AST) -> ast.AST:
    """Drop `raise` statements and docstrings: their text is not a rule."""

    class Dropper(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.AST:
            return ast.copy_location(ast.Pass(), node)

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
            return ast.copy_location(ast.Constant("text"), node)

    return Dropper().visit(tree)


def _changes(node: ast.AST, text: str) -> Iterator[tuple[str, ast.AST, str]]:
    if isinstance(node, ast.Call):
        yield from _call_changes(node, text)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
        left, right = (ast.get_source_segment(text, n) for n in (node.left, node.comparators[0]))
        yield "comparison", node, f"{left} {_TURNED[type(node.ops[0])]} {right}"
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = (ast.get_source_segment(text, n) for n in (node.left, node.right))
        sign = "-" if isinstance(node.op, ast.Add) else "+"
        if not isinstance(node.left, ast.Tuple | ast.Constant | ast.List):
            yield "off by twice", node, f"({left} {sign} {right})"
    elif isinstance(node, ast.IfExp):
        body, test, other = (
            ast.get_source_segment(text, n) for n in (node.body, node.test, node.orelse)
        )
        yield "choice", node, f"{other} if {test} else {body}"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", node, f"({ast.get_source_segment(text, node.operand)})"


def _call_changes(node: ast.Call, text: str) -> Iterator[tuple[str, ast.AST, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    args = [ast.get_source_segment(text, a) for a in node.args]
    head = ast.get_source_segment(text, node.func) or ""
    if name in _LOST and len(args) == 1:
        yield f"{name} lost", node, f"({args[0]})"
    if name in _SWAPPED and len(args) >= 2:
        yield "operands swapped", node, f"{head}({', '.join([*args[:-2], args[-1], args[-2]])})"
    if name in _OPPOSITE and args:
        yield "operation", node.func, head[: -len(name)] + _OPPOSITE[name]
    for keyword in node.keywords:
        if keyword.arg == "strict":  # of zip: a check, not a rule
            continue
        if keyword.arg == "weak_type":
            yield "weak type", keyword.value, "False"
        elif isinstance(keyword.value, ast.Constant) and type(keyword.value.value) is bool:
            yield "flag", keyword.value, str(not keyword.value.value)
