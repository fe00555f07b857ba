"""Runs the Python code blocks of Markdown pages: ``python tools/run_docs.py PAGE ...``.

Blocks marked ``python`` run as they stand, those marked ``pycon`` as doctests; all blocks of a
page share one namespace, as a reader would type them. A block marked ``python file=a/b.py`` is
not run but written to that file, from where later blocks import it.

As a pytest plugin (``-p run_docs``) it makes one test of each page, in a process of its own, so
that a page may change the configuration.
"""

import contextlib
import doctest
import importlib
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)(?: file=(?P<file>\S+))?")
# Names that docstring examples may use without importing them.
EXAMPLE_NAMES = {
    "tans": "tans",
    "jnp": "tans.numpy",
    "lax": "tans.lax",
    "random": "tans.random",
    "np": "numpy",
}


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced code block; ``line`` is the first line of its code in the page."""

    file: str | None

    language: str
    line: int
    code: str


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced code blocks of a page.

    Raises:
      ValueError: a fence is not closed.
    """
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        opening = _FENCE.match(line)
        if opening is None:
            continue
        indent, code = len(opening["indent"]), []
        for _, inner in lines:
            if inner.strip() == opening["ticks"]:
                break
            code.append(inner[indent:])
        else:
            raise ValueError(f"the code block at line {number} is not closed; end it with ```")
        yield Block(opening["file"], opening["language"], number + 1, "\n".join(code) + "\n")


def run_block(block: Block, page: str, names: dict[str, Any]) -> None:
    """Run one block; errors point at the page's own lines.

    Raises:
      AssertionError: an example printed something else than the page says.
    """
    if block.file:
        path = Path(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        return
    if block.language == "python":
        code = compile("\n" * (block.line - 1) + block.code, page, "exec")
        exec(code, names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    if runner.failures:
        raise AssertionError("".join(report))


def run_page(path: Path) -> int:
    """Run the Python blocks of a page in order; return how many there were."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings(action="error"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        page = str(path.resolve())
        text = path.read_text(encoding="utf-8")
        stack.enter_context(contextlib.chdir(folder))  # a page may write files and import them
        sys.path.insert(0, folder)
        stack.callback(sys.path.remove, folder)
        for block in blocks(text):
            if block.language in ("python", "pycon"):
                run_block(block, page, names)
                count += 1
    return count


class Page(pytest.File):
    """A Markdown page for pytest."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test when the page has code to run."""
        text = self.path.read_text(encoding="utf-8")
        if any(block.language in ("python", "pycon") for block in blocks(text)):
            yield PageTest.from_parent(self, name="page")


class PageTest(pytest.Item):
    """Runs one page in a process of its own."""

    def runtest(self) -> None:
        """Run the page.

        Raises:
          PageError: a block failed.
        """
        command = [sys.executable, __file__, str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise PageError(done.stdout + done.stderr)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Show what the page's process said, not our own frames."""
        if isinstance(excinfo.value, PageError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))


class PageError(Exception):
    """A code block of a page failed; the text is the output of its process."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    """Collect Markdown pages, other than change logs."""
    if file_path.suffix == ".md" and file_path.name != "CHANGELOG.md":
        return Page.from_parent(parent, path=file_path)
    return None


@pytest.fixture(autouse=True)
def _example_names(doctest_namespace: dict[str, Any]) -> None:
    for name, module in EXAMPLE_NAMES.items():
        doctest_namespace[name] = importlib.import_module(module)


def main(paths: list[str]) -> int:
    """Run the given pages; an error ends it with its traceback."""
    for path in paths:
        print(f"{path}: {run_page(Path(path))} code blocks")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
