"""Prints the size table and fails on files or packages that outgrew their limits.

A reader holds a file of a few hundred lines in mind, not one of thousands; the limits and the
exceptions, each with its reason, are in ``sizes.toml``.
"""

import ast
import io
import sys
import tokenize
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import workspace

LIMITS = Path(__file__).with_name("sizes.toml")
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)


@dataclass(slots=True)
class FileSize:
    """Sizes of one file; functions are (name, first line, lines)."""

    path: str
    lines: int
    code: int
    functions: list[tuple[str, int, int]]


@dataclass(slots=True)
class Report:
    """The measured files with what is over its limit."""

    files: list[FileSize] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines that docstrings and other string statements stand on."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            lines.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return lines


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT and token.type != tokenize.ENDMARKER:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - docstring_lines(tree))


def span(node: ast.FunctionDef | ast.AsyncFunctionDef, doc: set[int]) -> int:
    """Return the lines of a function without its docstring."""
    return len(set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) - doc)


def measure(path: Path, root: Path) -> FileSize:
    """Measure one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    doc = docstring_lines(tree)
    functions = [
        (node.name, node.lineno, span(node, doc))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    relative = path.relative_to(root).as_posix()
    return FileSize(relative, len(text.splitlines()), code_lines(text, tree), functions)


def file_limit(path: str, limits: dict[str, Any]) -> float:
    """Return the number of lines a file may have; infinite for exempt ones."""
    for row in limits.get("allow", []):
        if fnmatch(path, row["path"]):
            return float(row.get("lines", "inf"))
    kind = "test_lines" if "tests/" in path else "lines"
    return float(limits["files"][kind])


def check(files: list[FileSize], limits: dict[str, Any]) -> Report:
    """Compare the files with the limits."""
    report = Report(files)
    for file in files:
        limit = file_limit(file.path, limits)
        if file.lines > limit:
            report.errors.append(
                f"{file.path}: {file.lines} lines, at most {limit:.0f}; split it by idea, "
                "or list it with a reason in tools/sizes.toml"
            )
        longest = limits["functions"]["lines"]
        exempt = limit == float("inf") or "tests/" in file.path
        report.warnings += [
            f"{file.path}:{line}: {name} has {lines} lines, aim at 10 and stop at {longest}"
            for name, line, lines in file.functions
            if lines > longest and not exempt
        ]
    return report


def check_budgets(rows: dict[str, int], limits: dict[str, Any]) -> list[str]:
    """Compare the code lines per package with their budgets."""
    return [
        f"{name}: {rows[name]} code lines, at most {budget}; move what others can do without"
        for name, budget in limits["budgets"].items()
        if rows.get(name, 0) > budget
    ]


def table(root: Path, files: list[FileSize], limits: dict[str, Any]) -> tuple[str, dict[str, int]]:
    """Return the table of package sizes, and code lines per package."""
    head = f"{'package':<16}{'files':>6}{'lines':>8}{'code':>8}{'budget':>8}{'median':>8}  largest"
    rows, code = [head], {}
    for package in workspace.load(root).values():
        prefix = package.source.relative_to(root).as_posix() + "/"
        mine = sorted((f for f in files if f.path.startswith(prefix)), key=lambda f: f.lines)
        if not mine:
            continue
        code[package.name] = sum(f.code for f in mine)
        largest = f"{mine[-1].path.removeprefix(prefix)} {mine[-1].lines}"
        budget = limits["budgets"].get(package.name, "")
        lines, median = sum(f.lines for f in mine), mine[len(mine) // 2].lines
        rows.append(
            f"{package.name:<16}{len(mine):>6}{lines:>8}{code[package.name]:>8}"
            f"{budget:>8}{median:>8}  {largest}"
        )
    return "\n".join(rows), code


def sources(root: Path) -> list[Path]:
    """List the Python files that the limits hold for."""
    patterns = ("packages/*/src/**/*.py", "packages/*/tests/**/*.py", "tools/**/*.py")
    patterns += ("integration_tests/**/*.py", "noxfile.py")
    return sorted({p for pattern in patterns for p in root.glob(pattern)})


def main(root: Path = workspace.ROOT) -> int:
    """Print the table, warnings and errors; return 1 when there are errors."""
    limits = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    report = check([measure(p, root) for p in sources(root)], limits)
    text, code = table(root, report.files, limits)
    errors = report.errors + check_budgets(code, limits)
    print(text)
    print("\n".join(f"warning: {line}" for line in report.warnings))
    print("\n".join(f"error: {line}" for line in errors) or "sizes: within the limits")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
