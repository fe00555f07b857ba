"""Reads the packages of this repository from their pyproject files; standard library only.

There is no list of packages anywhere: a folder with a pyproject file under ``packages/`` is one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirement_name(requirement: str) -> str:
    """Return the normalised distribution name of a requirement such as ``numpy >= 2.1``."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    if match is None:
        raise ValueError(f"not a requirement: {requirement!r}; expected a name, then a range")
    return re.sub(r"[-_.]+", "-", match.group()).lower()


@dataclass(frozen=True, slots=True)
class Package:
    """One distribution of the repository."""

    name: str
    version: str
    path: Path
    dependencies: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]

    @property
    def import_name(self) -> str:
        """The name to import."""
        return self.name.replace("-", "_")

    @property
    def short(self) -> str:
        """The name without ``tans-``, used in nox session names."""
        return self.name.removeprefix("tans-")

    @property
    def source(self) -> Path:
        """The folder of the importable package."""
        return self.path / "src" / self.import_name

    @property
    def needs(self) -> frozenset[str]:
        """Normalised names of the declared dependencies."""
        return frozenset(map(requirement_name, self.dependencies))


def load(root: Path = ROOT) -> dict[str, Package]:
    """Read all packages, in an order in which each comes after those it needs.

    Raises:
      ValueError: the packages need each other in a circle.
    """
    found: dict[str, Package] = {}
    for file in sorted(root.glob("packages/*/pyproject.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        project = data["project"]
        groups = {k: tuple(v) for k, v in data.get("dependency-groups", {}).items()}
        dependencies = tuple(project.get("dependencies", ()))
        package = Package(project["name"], project["version"], file.parent, dependencies, groups)
        found[package.name] = package
    return {name: found[name] for name in _ordered(found)}


def _ordered(packages: dict[str, Package]) -> list[str]:
    order: list[str] = []
    left = dict(packages)
    while left:
        ready = [n for n, p in left.items() if not (p.needs & left.keys())]
        if not ready:
            raise ValueError(f"packages need each other in a circle: {', '.join(sorted(left))}")
        for name in ready:
            order.append(name)
            del left[name]
    return order


def closure(names: Iterable[str], packages: dict[str, Package]) -> list[Package]:
    """Return the named packages and all of ours that they need, needed ones first.

    Test groups may name packages of ours too; give those names as well.
    """
    todo, wanted = [n for n in names if n in packages], set[str]()
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += [n for n in packages[name].needs if n in packages]
    return [p for n, p in packages.items() if n in wanted]


def tool_groups(root: Path = ROOT) -> dict[str, tuple[str, ...]]:
    """Return the dependency groups of the tools and of the demo."""
    groups: dict[str, tuple[str, ...]] = {}
    for file in (root / "tools" / "pyproject.toml", root / "tools" / "demo" / "pyproject.toml"):
        if file.exists():
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            groups |= {k: tuple(v) for k, v in data.get("dependency-groups", {}).items()}
    return groups


def requirements(groups: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the arguments with which one pip or uv command installs everything.

    Args:
      groups: ``test`` stands for the test groups of all packages; others are those of the tools.
      root: the top folder of the checkout.
    """
    packages = load(root)
    arguments: list[str] = []
    for package in packages.values():
        arguments += ["-e", str(package.path)]
    extra: dict[str, None] = {}
    tools = tool_groups(root)
    for group in groups:
        sources = [p.groups.get(group, ()) for p in packages.values()]
        for requirement in [r for rs in [*sources, tools.get(group, ())] for r in rs]:
            if requirement_name(requirement) not in packages:
                extra[requirement] = None
    return arguments + sorted(extra)


def main(argv: list[str]) -> int:
    """Print the arguments of the installation, one on a line."""
    if argv[:1] != ["requirements"]:
        print("usage: workspace.py requirements [GROUP ...]", file=sys.stderr)
        return 2
    print("\n".join(requirements(argv[1:])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
