"""The tests that run a line, from what the plugin ``reach`` noted, so that they can go first."""

import json
import os
import subprocess
import sys
from pathlib import Path

from faults import Fault

FOLDERS = (
    *(f"packages/tans-{name}" for name in (
        "lax", "autodiff", "batching", "sharding", "hijax", "xla", "core", "random", "compiler",
        "refs",
    )),
    "integration_tests",
)  # fmt: skip
SECONDS, TESTS, BACK = 40.0, 15, 20
type Table = dict[str, dict[str, dict[str, list[tuple[float, str]]]]]


def table(root: Path, kept: Path) -> Table:
    """Return, per folder of tests, which tests ran which lines; `kept` holds one file for each.

    A folder without a file has its tests run, all of them, under the plugin.
    """
    kept.mkdir(exist_ok=True)
    out: Table = {}
    for folder in FOLDERS:
        file = kept / f"{Path(folder).name.removeprefix('tans-').removesuffix('_tests')}.json"
        if not file.exists():
            print(f"noting what the tests of {folder} run", flush=True)
            _note(root, root / folder, file)
        out[folder] = json.loads(file.read_text())
    return out


def _note(root: Path, folder: Path, file: Path) -> None:
    paths = [*sorted(root.glob("packages/*/src")), Path(__file__).parent]
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "REACH_OUT": str(file)}
    tests = [str(folder / "tests")] if (folder / "tests").exists() else []
    subprocess.run(
        [*command, "-p", "reach", "--tb=no", *tests], cwd=folder, check=False,
        env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def quickest(noted: Table, fault: Fault) -> list[tuple[str, list[str]]]:
    """Return the folders and quick tests that ran the lines of a fault, or those just above."""
    runs: list[tuple[str, list[str]]] = []
    for folder, files in noted.items():
        lines = files.get(fault.path, {})
        end = fault.line + fault.old.count("\n")
        hits = [t for n in range(fault.line, end + 1) for t in lines.get(str(n), [])]
        for n in range(fault.line - 1, fault.line - BACK, -1):
            hits = hits or lines.get(str(n), [])
        chosen: list[str] = []
        left = SECONDS
        for seconds, test in hits:
            if test not in chosen and seconds < left and len(chosen) < TESTS:
                chosen.append(test)
                left -= seconds
        if chosen:
            runs.append((folder, chosen))
    return runs
