"""A line on the terminal while a long compilation runs."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, TextIO

DELAY: Final = 2.0  # seconds before the first line
PERIOD: Final = 0.5  # seconds between two updates
_ERASE: Final = "\r\x1b[2K"
_NO_TERMINAL: Final = (OSError, ValueError, AttributeError)  # closed, gone, or another object


def watch(request: Any) -> AbstractContextManager[None]:
    """Return a context that shows a compilation, if it takes long and stderr is a terminal.

    Args:
      request: a `tans_xla.compile.Request`.
    """
    stream: TextIO | None = sys.stderr  # None in programs without a console
    try:
        if stream is not None and stream.isatty():
            return _shown(request, stream)
    except _NO_TERMINAL:
        pass
    return nullcontext()


@contextmanager
def _shown(request: Any, stream: TextIO) -> Iterator[None]:
    done = threading.Event()
    line = _Line(request, stream)
    thread = threading.Thread(target=line.keep, args=(done,), name="tans-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class _Line:
    """The line: function, seconds, instructions, devices."""

    def __init__(self, request: Any, stream: TextIO) -> None:
        self._request = request
        self._stream = stream
        self._instructions = count_operations(request.module.operation)

    def keep(self, done: threading.Event) -> None:
        """Write the line again and again until `done`, then erase it."""
        start = time.perf_counter()
        if done.wait(DELAY):
            return
        while True:
            self._write(_ERASE + self.text(time.perf_counter() - start)[: self._width()])
            if done.wait(PERIOD):
                self._write(_ERASE)
                return

    def text(self, seconds: float) -> str:
        devices = len(self._request.devices)
        where = f" for {devices} devices" if devices > 1 else ""
        name = "".join(c if c.isprintable() else "?" for c in self._request.name[:40])
        return f"compiling {name}{where}: {seconds:.0f} s, {self._instructions} instructions"

    def _width(self) -> int:
        """Return how much fits into one line, since only one is erased."""
        try:
            return max(os.get_terminal_size(self._stream.fileno()).columns - 1, 0) or 79
        except _NO_TERMINAL:
            return 79

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except _NO_TERMINAL:
            pass  # the compilation goes on


def count_operations(operation: Any) -> int:
    """Return the number of operations inside an MLIR operation."""
    count = 0
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                count += 1 + count_operations(inner.operation)
    return count
