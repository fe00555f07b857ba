"""The mutation run: seeded faults in rules, one at a time, against the tests of their family.

``python tools/mutation/run.py --count 100 --seed 1`` prints each fault and whether a test caught
it, and fails if less than ``--least`` per cent were caught. It works on a copy of the checkout.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import faults  # noqa: E402

LIMIT = 300  # seconds that the tests of a family may take; a loop without end counts as caught


def tests_of(path: str) -> list[str]:
    """Return the tests that a fault in a file is checked with, in order of preference."""
    table = tomllib.loads((HERE / "families.toml").read_text())["families"]
    found = [tests for prefix, tests in table.items() if prefix in path]
    own = path.split("/")[1]
    return [t for tests in found for t in tests] or [f"packages/{own}/tests"]


def copy(root: Path, target: Path) -> None:
    """Copy packages, tools and tests."""
    for name in ("packages", "integration_tests", "tools"):
        shutil.copytree(
            root / name, target / name, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )


def caught(root: Path, fault: faults.Fault) -> tuple[bool, str]:
    """Apply a fault, run the tests, restore; return whether one failed, and its name."""
    sound = fault.apply(root)
    paths = os.pathsep.join(str(p) for p in sorted(root.glob("packages/*/src")))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        for test in tests_of(fault.path):
            place, _, words = test.partition(" ")
            folder = root / (
                "/".join(place.split("/")[:2]) if place[0] == "p" else "integration_tests"
            )
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider"]
            command += ["--no-header", str(root / place), *(["-k", words] if words else [])]
            try:
                done = subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, text=True,
                    timeout=LIMIT, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return True, "no end"
            if done.returncode not in (0, 5):
                lines = [n for n in done.stdout.splitlines() if n.startswith(("FAILED", "ERROR"))]
                return True, (lines or ["it failed"])[0][:100]
        return False, ""
    finally:
        (root / fault.path).write_text(sound)


def main() -> int:
    """Sample, run, print; return the number to exit with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first fault to run")
    parser.add_argument("--least", type=float, default=95.0, help="per cent that must be caught")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    options = parser.parse_args()
    chosen = faults.sample(ROOT, options.count, options.seed)[options.first :]
    end, results = time.monotonic() + 60 * options.minutes, []
    with tempfile.TemporaryDirectory() as folder:
        copy(ROOT, Path(folder))
        for number, fault in enumerate(chosen, options.first):
            if time.monotonic() > end:
                break
            found, by = caught(Path(folder), fault)
            results.append(found)
            where = f"{fault.path.split('src/')[-1]}:{fault.line}"
            print(f"{number:3} {'caught' if found else 'MISSED'} {where} {fault.kind}: "
                  f"{' '.join(fault.old.split())[:60]} -> {' '.join(fault.new.split())[:60]}  {by}",
                  flush=True)  # fmt: skip
    share = 100 * sum(results) / max(1, len(results))
    print(f"{sum(results)} of {len(results)} faults caught: {share:.0f} per cent")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
