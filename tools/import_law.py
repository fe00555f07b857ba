"""Checks what the layer contract can't see: late imports, private modules, jax and jaxlib by name.

The layers themselves are the contract in ``.importlinter``.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import workspace

ALLOWED_FILE = Path(__file__).with_name("import_law.toml")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, with where it stands."""

    module: str
    line: int
    function: str | None  # the function it stands in, None at module level
    top_function: str | None  # the outermost function, if that is at module level


@dataclass(frozen=True, slots=True)
class Allowed:
    """A late import that is allowed: a line of import_law.toml."""

    file: str
    module: str
    reason: str


def imports(tree: ast.Module) -> Iterator[Import]:
    """Yield every import of a module, those inside functions too."""
    todo: list[tuple[ast.AST, str | None, str | None]] = [(tree, None, None)]
    while todo:
        node, function, top = todo.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, function, top)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                yield Import(f"{node.module}.{alias.name}", node.lineno, function, top)
        elif isinstance(node, ast.ImportFrom):
            yield Import("." * node.level, node.lineno, function, top)
        inside, outer = function, top
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = getattr(node, "name", "lambda")
            outer = top if function else (inside if node in tree.body else "")
        todo += [(child, inside, outer) for child in ast.iter_child_nodes(node)]


def check_import(item: Import, file: Path, own: str, roots: frozenset[str]) -> str | None:
    """Return what is wrong with an import, whatever function it stands in, or None."""
    root, *rest = item.module.split(".")
    if item.module.startswith("."):
        return "relative import; write the full name of the module"
    if root == "jax":
        return f"imports {item.module}; Tans never imports jax"
    if root == "jaxlib" and file.name != "_jaxlib.py":
        return f"imports {item.module}; give the name in the package's _jaxlib.py and import that"
    private = next((part for part in rest if part.startswith("_") and part[:2] != "__"), None)
    if root in roots and root != own and private:
        return f"imports {item.module}, private to {root}; import a public name of {root}"
    return None


def check_late(item: Import, file: Path, relative: str, allowed: list[Allowed]) -> str | None:
    """Return what is wrong with an import inside a function, or None."""
    if item.function is None or item.top_function == "__getattr__" or file.name == "_jaxlib.py":
        return None
    for entry in allowed:
        named = item.module == entry.module or item.module.startswith(entry.module + ".")
        if entry.file == relative and named:
            return None
    return (
        f"imports {item.module} inside {item.function}; import it at the top, or list it with "
        f"a reason in tools/{ALLOWED_FILE.name}"
    )


def read_allowed(path: Path = ALLOWED_FILE) -> list[Allowed]:
    """Read the list of allowed late imports."""
    return [Allowed(**row) for row in tomllib.loads(path.read_text("utf-8")).get("late", [])]


def hidden_folders(source: Path, root: Path) -> list[str]:
    """Return one line per folder of modules that the layer contract does not see."""
    folders = {file.parent for file in source.rglob("*.py")}
    return [
        f"{folder.relative_to(root).as_posix()}: has no __init__.py, so the layer contract does "
        "not see its modules; add one with a docstring"
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists()
    ]


def violations(root: Path, allowed: list[Allowed]) -> list[str]:
    """Check all packages; return one line per violation."""
    packages = workspace.load(root)
    roots = frozenset(p.import_name for p in packages.values())
    found = []
    for package in packages.values():
        found += hidden_folders(package.source, root)
        for file in sorted(package.source.rglob("*.py")):
            relative = file.relative_to(root).as_posix()
            for item in imports(ast.parse(file.read_text(encoding="utf-8"))):
                faults = (
                    check_import(item, file, package.import_name, roots),
                    check_late(item, file, relative, allowed),
                )
                found += [f"{relative}:{item.line}: {fault}" for fault in faults if fault]
    return found


def main() -> int:
    """Print the violations; return 1 when there are any."""
    found = violations(workspace.ROOT, read_allowed())
    print("\n".join(found) or "import law: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
