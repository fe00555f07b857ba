"""Keeps docs/reference/what-tans-has.md: the names of JAX 0.12 against those of Tans.

The names and signatures of JAX are data, in ``tools/jax-0.12/names.txt``; what a name that is
absent or differs waits for, or differs by, is said in ``tools/jax-0.12/notes.toml``. ``--update``
writes the page anew; ``--read FILE`` makes the data from an inventory in JSON.
"""

import argparse
import ast
import fnmatch
import importlib
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import workspace

FOLDER = Path(__file__).parent / "jax-0.12"
PAGE = workspace.ROOT / "docs" / "reference" / "what-tans-has.md"
# Kernel languages, and namespaces that the reference documents as private.
LEFT_OUT = re.compile(r"jax\.(experimental\.(pallas|mosaic)|extend\.mlir|lib)\b")
LETTERS = {
    "function": "f", "ufunc": "u", "class": "c", "method": "m", "classmethod": "m",
    "staticmethod": "m", "property": "p", "attribute": "p", "constant": "v", "config": "g",
    "module": "M", "namespace": "M", "removed": "r",
}  # fmt: skip


class Name(NamedTuple):
    """A public name of JAX: module, the rest of the name, a letter for its kind, signature."""

    module: str
    rest: str
    kind: str
    signature: str
    deprecated: bool

    @property
    def full(self) -> str:
        """The dotted name."""
        return f"{self.module}.{self.rest}" if self.rest else self.module


def plain_signature(text: str) -> str:
    """Return a signature without annotations; a default that is an object becomes ``...``."""
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)
    text = re.sub(r"<[^<>]*>", "...", text)
    try:
        function = ast.parse(f"def f{text}: pass").body[0]
    except SyntaxError:
        return ""
    assert isinstance(function, ast.FunctionDef)
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    function.returns = None
    return ast.unparse(function.args)


def live_signature(value: Any) -> str | None:
    """Return the signature of a live object in the same form; None if it has none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    stripped = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    bare = found.replace(parameters=stripped, return_annotation=found.empty)
    return plain_signature(str(bare))


def read(path: Path) -> list[str]:
    """Return the lines of the data file for an inventory in JSON."""
    entries = [e for e in json.loads(path.read_text()) if not LEFT_OUT.match(e["name"])]
    modules = {e["name"] for e in entries if e["kind"] in ("module", "namespace")}
    modules |= {"jax", "jax.Array", "jax.Array.at[]"}
    lines: list[str] = []
    current = None
    by_module: dict[str, list[dict[str, Any]]] = {}
    for e in entries:
        owner = e["name"]
        while owner not in modules or owner == e["name"]:
            owner = owner.rpartition(".")[0]
            if not owner:
                break
        by_module.setdefault(owner, []).append(e)
    for owner in sorted(by_module):
        current = owner or "jax"
        lines.append(f"[{current}]")
        for e in sorted(by_module[owner], key=lambda e: e["name"]):
            rest = e["name"].removeprefix(f"{owner}." if owner else "")
            if not owner:
                continue
            signature = f"({plain_signature(e['sig'])})" if "sig" in e else ""
            mark = "!" if e.get("deprecated") else ""
            lines.append(f"{mark}{LETTERS[e['kind']]} {rest}{signature}")
    return lines


def names(text: str | None = None) -> Iterator[Name]:
    """Yield the names of JAX 0.12."""
    module = ""
    for line in (text or (FOLDER / "names.txt").read_text()).splitlines():
        if line.startswith("["):
            module = line[1:-1] if not line.startswith("[jax.Array.at") else "jax.Array.at[]"
            continue
        kind, _, rest = line.partition(" ")
        name, paren, signature = rest.partition("(")
        yield Name(module, name, kind[-1], paren + signature, kind.startswith("!"))


def find(name: Name) -> Any:
    """Return the object that Tans has under a name; raise LookupError if there is none."""
    if name.full.startswith("jax.Array.at[]"):
        value: Any = type(_array().at[0])
        parts = [name.rest]
    elif name.module == "jax.Array":
        value, parts = _array_class(name.rest), [name.rest]
    else:
        value, parts = importlib.import_module("tans"), name.full.split(".")[1:]
    path = "tans"
    for part in parts:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                raise LookupError(name.full) from None
    return value


def _array() -> Any:
    return importlib.import_module("tans.numpy").zeros(2)


def _array_class(name: str) -> type:
    """Return the class of concrete arrays, or that of traced ones for what only these have."""
    return type(_array())


def difference(name: Name, value: Any) -> str:
    """Say how a name that exists differs in kind or signature; empty if it does not."""
    kind = name.kind
    if kind == "M" and not isinstance(value, ModuleType):
        return "not a module"
    if kind == "c" and not isinstance(value, type):
        return "not a class"
    if kind == "f" and not callable(value):
        return "not callable"
    last = name.rest.rpartition(".")[2]
    if not name.signature or kind == "c" or (last.startswith("__") and last.endswith("__")):
        return ""
    live = live_signature(value)
    wanted = name.signature[1:-1]
    if live is None or same(wanted, live):
        return ""
    if kind == "m" and same(_unbound(wanted), _unbound(live)):
        return ""
    return f"({live}), in JAX ({wanted})"


def _unbound(signature: str) -> str:
    """Return the parameters of a method without the object itself, whatever its name."""
    rest = re.sub(r"^(self|a|arr|array|x)\b(=None)?(, /)?(, )?", "", signature)
    return re.sub(r"^/(, )?", "", rest)


def same(wanted: str, live: str) -> bool:
    """Whether two signatures agree; ``...`` agrees with any default."""
    if wanted == live:
        return True
    a, b = (ast.parse(f"def f({s}): pass").body[0].args for s in (wanted, live))  # type: ignore
    if [x.arg for x in a.posonlyargs] != [x.arg for x in b.posonlyargs]:
        return False
    for field in ("args", "kwonlyargs"):
        if [x.arg for x in getattr(a, field)] != [x.arg for x in getattr(b, field)]:
            return False
    if (a.vararg and a.vararg.arg) != (b.vararg and b.vararg.arg):
        return False
    if (a.kwarg and a.kwarg.arg) != (b.kwarg and b.kwarg.arg):
        return False
    return all(
        len(x) == len(y) and all(_same_default(p, q) for p, q in zip(x, y, strict=True))
        for x, y in ((a.defaults, b.defaults), (a.kw_defaults, b.kw_defaults))
    )


def _same_default(x: Any, y: Any) -> bool:
    if x is None or y is None:
        return x is y
    texts = {ast.unparse(x), ast.unparse(y)}
    return len(texts) == 1 or "..." in texts or "UnspecifiedValue" in texts


class Notes(NamedTuple):
    """What is said about names that are absent or differ: patterns and texts."""

    brought_by: dict[str, list[str]]
    not_planned: dict[str, list[str]]
    differs: dict[str, list[str]]


def notes() -> Notes:
    """Return the notes."""
    found = tomllib.loads((FOLDER / "notes.toml").read_text())
    return Notes(found["brought_by"], found["not_planned"], found["differs"])


def matching(table: dict[str, list[str]], name: str) -> str | None:
    """Return the key whose patterns fit a name."""
    for key, patterns in table.items():
        if any(fnmatch.fnmatchcase(name, p.replace("[]", "[[]]")) for p in patterns):
            return key
    return None


class State(NamedTuple):
    """The names by what became of them."""

    present: list[Name]
    absent: list[tuple[Name, str]]
    not_planned: list[tuple[Name, str]]
    differing: list[tuple[Name, str, str]]
    faults: list[str]


def state(inventory: Iterable[Name], said: Notes) -> State:
    """Compare names with the live namespaces."""
    found = State([], [], [], [], [])
    for name in inventory:
        try:
            value = find(name)
        except LookupError:
            if name.deprecated or name.kind == "r":
                continue
            package, reason = (
                matching(said.brought_by, name.full),
                matching(said.not_planned, name.full),
            )
            if package:
                found.absent.append((name, package))
            elif reason:
                found.not_planned.append((name, reason))
            else:
                found.faults.append(f"{name.full}: absent, and no note says who brings it")
            continue
        if name.kind == "r":
            found.faults.append(f"{name.full}: JAX removed it, Tans has it")
            continue
        found.present.append(name)
        if text := difference(name, value):
            reason = matching(said.differs, name.full)
            if reason is None:
                found.faults.append(f"{name.full}: {text}")
            else:
                found.differing.append((name, text, reason))
    return found


def page(found: State) -> str:
    """Return the text of the page."""
    lines = [
        "# What Tans has of JAX 0.12",
        "",
        "Written by `python tools/inventory.py --update` from the names, parameters and defaults",
        "of JAX 0.12; a test compares it with the live namespaces. Deprecated names are left out,",
        "and so are `jax.experimental.pallas`, `jax.experimental.mosaic` and `jax.lib`.",
        "",
        "## Namespaces",
        "",
        "| namespace | names | present | brought by another package | not planned |",
        "|---|---|---|---|---|",
    ]
    rows: dict[str, list[int]] = {}
    for column, group in enumerate((found.present, found.absent, found.not_planned)):
        for entry in group:
            name = entry if isinstance(entry, Name) else entry[0]
            rows.setdefault(_namespace(name), [0, 0, 0])[column] += 1
    for module in sorted(rows):
        counts = rows[module]
        lines.append(f"| `{module}` | {sum(counts)} | {counts[0]} | {counts[1]} | {counts[2]} |")
    lines += _grouped("Brought by another package", found.absent)
    lines += _grouped("Not planned", found.not_planned)
    lines += ["", "## Parameters that differ", "", "| reason | names |", "|---|---|"]
    by_reason: dict[str, list[str]] = {}
    for name, _, reason in found.differing:
        by_reason.setdefault(reason, []).append(f"`{name.full}`")
    lines += [f"| {reason} | {', '.join(names_)} |" for reason, names_ in by_reason.items()]
    return "\n".join(lines) + "\n"


def _namespace(name: Name) -> str:
    parts = name.full.split(".")
    if name.module in ("jax.Array", "jax.Array.at[]"):
        return name.module
    deep = len(parts) > 1 and parts[1] in _DEEP
    return ".".join(name.module.split(".")[: 3 if deep else 2])


_DEEP = frozenset(("scipy", "numpy", "lax", "nn", "experimental", "extend"))


def _grouped(title: str, entries: list[tuple[Name, str]]) -> list[str]:
    """Return a section: who, and the names, members of classes that are absent left out."""
    lines = ["", f"## {title}", ""]
    absent = {name.full for name, _ in entries}
    by_group: dict[str, list[str]] = {}
    for name, group in entries:
        if name.full.rpartition(".")[0] not in absent:
            by_group.setdefault(group, []).append(f"`{name.full.removeprefix('jax.')}`")
    return [*lines, *(f"* **{g}**: {', '.join(by_group[g])}" for g in sorted(by_group))]


def faults() -> list[str]:
    """Return one line per name without a note, and one if the page is out of date."""
    found = state(names(), notes())
    out_of_date = not PAGE.exists() or PAGE.read_text() != page(found)
    stale = [f"{PAGE.name}: out of date; run python tools/inventory.py --update"] * out_of_date
    return found.faults + stale


def main(arguments: list[str]) -> int:
    """Check, or write anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the page anew")
    parser.add_argument("--read", type=Path, help="make the data from an inventory in JSON")
    options = parser.parse_args(arguments)
    if options.read:
        (FOLDER / "names.txt").write_text("\n".join(read(options.read)) + "\n")
    if options.update:
        PAGE.write_text(page(state(names(), notes())))
    found = faults()
    sys.stdout.writelines(f"{line}\n" for line in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
