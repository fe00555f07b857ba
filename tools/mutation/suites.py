"""Which tests check a rule, and running them on a copy of the checkout."""

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import reached
from faults import Fault

TABLE = Path(__file__).with_name("families.toml")
LIMIT = 600  # seconds that a run may take; a loop without end counts as caught
WIDE = 3000  # the same for the whole suite of a package
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
COLUMN_WORDS = {
    "derivatives.py": "derivatives|vjp|autodiff|control_flow",
    "batching.py": "batching|transformations|vmap|derivatives",
    "types.py": "types|vectors",
    "lowering.py": "values|lowering",
}


def tests_of(path: str) -> list[str]:
    """Return the tests that check a file: those of all rows that name a part of its path.

    Rows of the section ``[otherwise]`` count only where no other does; the package's whole suite
    where none names more than the column. Files whose name tells of the column come first.
    """
    table = tomllib.loads(TABLE.read_text())
    own = [f"packages/{path.split('/')[1]}/tests"]
    for section in ("families", "otherwise"):
        rows = {part: tests for part, tests in table[section].items() if part in path}
        if rows:
            of_family = any(not part.startswith("/") for part in rows)
            tests = list(dict.fromkeys(itertools.chain([] if of_family else own, *rows.values())))
            words = COLUMN_WORDS.get(path.rsplit("/", 1)[1], "-")
            return sorted(tests, key=lambda t: re.search(words, t) is None)
    return own


def wide_tests_of(path: str) -> list[str]:
    """Return what is run where the named tests catch nothing: the package's, the integration's."""
    return [f"packages/{path.split('/')[1]}/tests", "integration_tests"]


class Copy:
    """A copy of packages, tests and tools in which one fault at a time is made."""

    def __init__(self, root: Path, folder: Path, kept: Path) -> None:
        self.folder = folder.resolve()
        self._failing: list[str] = []
        skipped = shutil.ignore_patterns("__pycache__", ".*")
        for name in ("packages", "integration_tests", "tools"):
            shutil.copytree(root / name, self.folder / name, ignore=skipped)
        self._noted = reached.table(self.folder, kept)

    def caught(self, fault: Fault, *, wide: bool = True) -> tuple[bool, str]:
        """Make a fault, run its tests, restore; return whether one failed, and its name.

        A test that fails counts if it passes without the fault; if it does not, it is left out.
        Tests that don't end within the limit count if they do without the fault.
        """
        noted = reached.quickest(self._noted, fault)
        runs = [(LIMIT, self.folder / folder, tests) for folder, tests in noted]
        runs += [(LIMIT, *run) for run in self._runs(tests_of(fault.path))]
        if wide:
            runs += [(WIDE, *run) for run in self._runs(wide_tests_of(fault.path))]
        for place, (limit, folder, arguments) in enumerate(runs):
            while True:
                out = [f"--deselect={name}" for name in self._failing]
                with self._made(fault):
                    code, text = self._pytest(folder, ["-x", *out, *arguments], limit)
                gone = code == 4 and place < len(noted)  # a noted test has another name now
                if code in (0, 5) or gone:
                    break
                if code < 0:
                    if self._pytest(folder, [*out, *arguments], limit)[0] >= 0:
                        return True, " ".join(text.split())[-90:]
                    break  # they take so long without the fault too
                failed = FAILED.findall(text)
                if not failed:
                    return True, text[-90:]
                if self._pytest(folder, [failed[0]])[0] == 0:
                    return True, failed[0][:90]
                print(f"    fails without a fault, left out: {failed[0]}", flush=True)
                self._failing.append(failed[0])
        return False, ""

    @contextlib.contextmanager
    def _made(self, fault: Fault) -> Iterator[None]:
        sound = fault.apply(self.folder)
        try:
            yield
        finally:
            file = self.folder / fault.path
            file.write_text(sound)
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
                compiled.unlink()

    def _runs(self, tests: list[str]) -> list[tuple[Path, list[str]]]:
        """Group tests to runs of pytest: files of a package in one, files with words alone."""
        runs: dict[str, tuple[Path, list[str]]] = {}
        for test in tests:
            place, _, words = test.partition(" ")
            parts = place.split("/")
            folder = self.folder / "/".join(parts[:2] if parts[0] == "packages" else parts[:1])
            key = f"{folder.name} {words}"
            _, arguments = runs.setdefault(key, (folder, ["-k", words] if words else []))
            arguments.append(str(self.folder / place))
        return list(runs.values())

    def _pytest(self, place: Path, arguments: list[str], limit: int = LIMIT) -> tuple[int, str]:
        paths = os.pathsep.join(str(p) for p in sorted(self.folder.glob("packages/*/src")))
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no"]
        try:
            done = subprocess.run(
                [*command, "--no-header", "-rfE", *arguments], cwd=place, capture_output=True,
                env={**os.environ, "PYTHONPATH": paths}, text=True, timeout=limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, "no end"
        return done.returncode, done.stdout + done.stderr
