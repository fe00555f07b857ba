"""Prints what is installed and which devices work, with a remedy for each row that fails.

Run it as ``python3 tools/dev.py doctor``. Versions are read without importing anything that could
fail; devices are asked for in a process of its own, because a broken driver may end it.
"""

import ast
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import workspace
from workspace import Package

OLDEST_PYTHON = (3, 12)
_DEVICES = """
import json
from tans_xla import backend, plugins
made = backend.clients()
rows = [(p, [d.device_kind for d in c.local_devices()]) for p, c in made.items()]
found = {n: str(p.library) for n, p in plugins.find_plugins().items()}
errors = dict(getattr(backend._backends, "errors", {}))
print(json.dumps([rows, found, errors]))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; an empty remedy means that all is well."""

    item: str
    found: str
    remedy: str = ""


def constant(module: str, name: str) -> int | None:
    """Return an integer assigned at the top of a module's source, without importing it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        value = getattr(node, "value", None)
        if name in names and isinstance(value, ast.Constant) and isinstance(value.value, int):
            return value.value
    return None


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version for comparison: ``0.12.0.1`` is (0, 12, 0, 1)."""
    return tuple(int(n) for n in re.findall(r"\d+", version.split("+")[0])[:5])


def within(version: str, requirement: str) -> bool:
    """Whether a version satisfies the range of a requirement such as ``jaxlib >= 0.11, < 0.13``."""
    key = version_key(version)
    for operator, bound in re.findall(r"(>=|<=|~=|==|<|>)\s*([\w.]+)", requirement):
        limit = version_key(bound)
        if operator in (">=", "~=") and key < limit:
            return False
        if operator == "~=" and key[: len(limit) - 1] != limit[:-1]:
            return False
        if operator == "<" and key >= limit:
            return False
    return True


def installed(name: str) -> str | None:
    """Return the installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def python_row() -> Row:
    """The interpreter."""
    found = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Row("Python", found, "delete .venv and run: python3 tools/dev.py setup")
    return Row("Python", found)


def package_row(package: Package, served: tuple[int, int] | None) -> Row:
    """One of our packages: installed version, and the interface it was built for."""
    version = installed(package.name)
    if version is None:
        return Row(package.name, "not installed", "run: python3 tools/dev.py setup")
    if served is None:
        remedy = f"pip install --upgrade tans-core {package.name}"
        return Row(package.name, f"{version}; tans-core states no interface", remedy)
    if package.name == "tans-core":
        return Row(package.name, f"{version}, serves interfaces {served[0]} to {served[1]}")
    built_for = constant(package.import_name, "_INTERFACE_BUILT_FOR")
    if built_for is None:
        return Row(package.name, f"{version}, states no interface")
    found = f"{version}, built for interface {built_for}"
    if not served[0] <= built_for <= served[1]:
        return Row(package.name, found, f"pip install --upgrade tans-core {package.name}")
    return Row(package.name, found)


def served_interfaces() -> tuple[int, int] | None:
    """Return the oldest and newest interface that the installed core serves."""
    newest = constant("tans_core.interface", "INTERFACE")
    oldest = constant("tans_core.interface", "INTERFACE_OLDEST")
    return None if newest is None or oldest is None else (oldest, newest)


def dependency_rows(packages: dict[str, Package]) -> list[Row]:
    """Third-party dependencies against the ranges that our packages declare."""
    ranges: dict[str, set[str]] = {}
    for package in packages.values():
        for requirement in package.dependencies:
            name = workspace.requirement_name(requirement)
            if name not in packages:
                ranges.setdefault(name, set()).add(requirement)
    rows = []
    for name, requirements in sorted(ranges.items()):
        version, wanted = installed(name), " and ".join(sorted(requirements))
        fits = version is not None and all(within(version, r) for r in requirements)
        remedy = "" if fits else f'pip install "{min(requirements)}"'
        rows.append(Row(name, f"{version or 'not installed'} (supported: {wanted})", remedy))
    return rows


def device_rows() -> list[Row]:
    """Devices by platform, then plugins that did not start."""
    command = [sys.executable, "-c", _DEVICES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return [Row("devices", "no answer in 120 s", "set JAX_PLATFORMS=cpu and try again")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return [Row("devices", last[:200], "if a plugin is at fault, set JAX_PLATFORMS=cpu")]
    clients, plugins, errors = json.loads(done.stdout.splitlines()[-1])
    rows = [
        Row(f"devices: {platform}", f"{len(kinds)} ({', '.join(sorted(set(kinds)))})")
        for platform, kinds in clients
    ]
    started = {platform for platform, _ in clients}
    for name, library in plugins.items():
        if name in started:
            rows.append(Row(f"plugin: {name}", f"started ({library})"))
        else:
            reason = errors.get(name, "did not start").splitlines()[0][:160]
            remedy = "check the driver and that the device is free, or uninstall the plugin"
            rows.append(Row(f"plugin: {name}", reason, remedy))
    if not plugins:
        rows.append(Row("plugins", "none installed; pip install 'tans[cuda]' or 'tans[tpu]'"))
    return rows


def report(rows: list[Row]) -> str:
    """Return the rows as a table, remedies below the row they belong to."""
    width = max(len(row.item) for row in rows)
    lines = []
    for row in rows:
        lines.append(f"{'FAIL' if row.remedy else 'ok':<5}{row.item:<{width}}  {row.found}")
        if row.remedy:
            lines.append(f"{'':<5}{'':<{width}}  remedy: {row.remedy}")
    return "\n".join(lines)


def main() -> int:
    """Print the report; return 1 when a row fails."""
    packages = workspace.load()
    served = served_interfaces()
    rows = [python_row(), *(package_row(p, served) for p in packages.values())]
    rows += [*dependency_rows(packages), *device_rows()]
    print(report(rows))
    return 1 if any(row.remedy for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
