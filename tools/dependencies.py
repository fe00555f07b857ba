"""Checks that each package declares the distributions it imports, and imports those it declares."""

import ast
import re
import sys
from pathlib import Path

import import_law
import workspace
from workspace import Package

_LAZY = re.compile(r"""["'](tans_[a-z]+)(?:\.[\w.]+)?["']""")
# Import names that differ from the distribution's.
DISTRIBUTIONS = {"ml_dtypes": "ml-dtypes", "opt_einsum": "opt-einsum"}


def distribution(module: str) -> str:
    """Return the distribution that brings a top-level module."""
    return DISTRIBUTIONS.get(module, module.replace("_", "-"))


def used(package: Package) -> dict[str, str]:
    """Return the distributions that a package imports, each with the first place."""
    places: dict[str, str] = {}
    for file in sorted(package.source.rglob("*.py")):
        for item in import_law.imports(ast.parse(file.read_text(encoding="utf-8"))):
            root = item.module.split(".")[0]
            if root and root not in sys.stdlib_module_names and root != package.import_name:
                places.setdefault(distribution(root), f"{file.name}:{item.line}")
    return places


def named(package: Package) -> set[str]:
    """Return distributions of ours that a package names in strings, as a lazy import does."""
    names: set[str] = set()
    for file in package.source.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        names |= {distribution(module) for module in _LAZY.findall(text)}
    return names


def faults(package: Package, optional: frozenset[str]) -> list[str]:
    """Return one line per difference between declared and used dependencies.

    Args:
      package: the package to check.
      optional: distributions that may be imported without being declared.
    """
    uses = used(package)
    where = f"packages/{package.name}/pyproject.toml"
    missing = sorted(uses.keys() - package.needs - optional)
    unused = sorted(package.needs - uses.keys() - named(package))
    return [
        *(f"{where}: does not declare {name}, imported in {uses[name]}" for name in missing),
        *(f"{where}: declares {name}, which nothing imports" for name in unused),
    ]


def test_faults(package: Package, packages: dict[str, Package]) -> list[str]:
    """Return one line per distribution that a package's tests import and do not get.

    Tests get the package, its closure, the test groups, and what those need; they import each other
    and the package's examples.
    """
    group = package.groups.get("test", ())
    given = {workspace.requirement_name(r) for r in group}
    for needed in workspace.closure([package.name, *given], packages):
        given |= {needed.name} | needed.needs
    found = []
    local = {
        file.stem for part in ("tests", "examples") for file in (package.path / part).rglob("*.py")
    }
    for file in sorted((package.path / "tests").rglob("*.py")):
        for item in import_law.imports(ast.parse(file.read_text(encoding="utf-8"))):
            root = item.module.split(".")[0]
            if not root or root in sys.stdlib_module_names or root in local:
                continue
            if distribution(root) not in given:
                where = f"packages/{package.name}/tests/{file.name}:{item.line}"
                found.append(f"{where}: imports {root}, which its test group does not bring")
    return found


def optional_distributions() -> frozenset[str]:
    """Return third-party packages that may be absent: those that import_law.toml lists."""
    return frozenset(
        distribution(entry.module.split(".")[0])
        for entry in import_law.read_allowed()
        if not entry.module.startswith("tans")
    )


def main(root: Path = workspace.ROOT) -> int:
    """Print the differences of all packages; return 1 when there are any."""
    optional = optional_distributions()
    packages = workspace.load(root)
    found = [line for p in packages.values() for line in faults(p, optional)]
    found += [line for p in packages.values() for line in test_faults(p, packages)]
    print("\n".join(found) or "declared dependencies: equal to those used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
