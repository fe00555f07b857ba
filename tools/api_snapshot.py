"""Compares the public names of each package with ``tests/api.txt``; ``--update`` writes it anew.

The snapshot has one line per public name with its signature, so that a review sees every change
of the interface.
"""

import argparse
import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import workspace
from workspace import Package

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def signature(value: Any) -> str:
    """Return the signature of a callable as text, ``(...)`` when it has none."""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    return _ADDRESS.sub("", text)


def describe(name: str, value: Any) -> Iterator[str]:
    """Yield the line of a public name, and for a class of ours one per public method."""
    if inspect.ismodule(value):
        yield f"module {name}"
    elif inspect.isclass(value):
        bases = ", ".join(b.__name__ for b in value.__bases__ if b is not object)
        yield f"class {name}({bases}): {signature(value)}"
        if value.__module__.split(".")[0].startswith("tans"):
            yield from _members(name, value)
    elif callable(value):
        yield f"{name}{signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _members(name: str, cls: type) -> Iterator[str]:
    for member, value in sorted(vars(cls).items()):
        if member.startswith("_"):
            continue
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function):
            yield f"{name}.{member}{signature(function)}"
        else:
            yield f"{name}.{member}"


def public_names(module: ModuleType) -> list[str]:
    """Return ``__all__``, or without it the module's own names that have no underscore.

    Raises:
      AttributeError: ``__all__`` lists a name that the module lacks.
    """
    listed = getattr(module, "__all__", None)
    if listed is None:
        return sorted(n for n, v in vars(module).items() if n[0] != "_" and not inspect.ismodule(v))
    absent = [n for n in listed if not hasattr(module, n)]
    if absent:
        raise AttributeError(f"{module.__name__}.__all__ lists names that do not exist: {absent}")
    return sorted(listed)


def snapshot(package: Package) -> str:
    """Return the snapshot of an importable package: its own names, then its public submodules'."""
    top = importlib.import_module(package.import_name)
    lines: list[str] = []
    submodules = []
    for name in public_names(top):
        value = getattr(top, name)
        lines += describe(name, value)
        if inspect.ismodule(value):
            submodules.append((name, value))
    for prefix, module in submodules:
        for name in public_names(module):
            lines += describe(f"{prefix}.{name}", getattr(module, name))
    return "\n".join(lines) + "\n"


def difference(package: Package) -> str:
    """Return a diff between the snapshot and the package; empty when they agree."""
    file = package.path / "tests" / "api.txt"
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = difflib.unified_diff(
        old.splitlines(), snapshot(package).splitlines(), str(file), package.name, lineterm="", n=0
    )
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Compare or update; return 1 when a package differs from its snapshot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the snapshots anew")
    parser.add_argument("packages", nargs="*", help="names; all packages by default")
    options = parser.parse_args(argv)
    changed = 0
    for package in workspace.load().values():
        if options.packages and package.name not in options.packages:
            continue
        if options.update:
            (package.path / "tests" / "api.txt").write_text(snapshot(package), encoding="utf-8")
        elif text := difference(package):
            changed += 1
            print(text)
    if changed:
        print(
            f"{changed} packages differ from their snapshot; if that is meant, run "
            "nox -s api -- --update, read the difference and add a note in changes/"
        )
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
