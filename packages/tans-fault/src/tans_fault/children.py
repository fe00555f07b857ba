"""Child processes of the supervisor: how they start, what becomes of their output, how they end.

Each child leads a process group, so that what it started ends with it and a key pressed in the
terminal reaches only the supervisor, which passes it on. A guard ends these groups should the
supervisor itself be killed.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final

_TIED: Final = Path(__file__).with_name("tied.py")
_GUARD: Final = Path(__file__).with_name("guard.py")
_LAST_WORDS_SECONDS: Final = 10.0
_LONGEST_LINE: Final = 1 << 20
_LINES_WAITING: Final = 64

type Events = queue.SimpleQueue[tuple[str, "Child | None", Any]]
"""What happened, to which child, and more about it."""


class Output:
    """Standard output, written line by line by a thread of its own.

    A reader that stops reading holds up the children, but never the supervisor; one that is gone
    holds up nobody.
    """

    def __init__(self) -> None:
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES_WAITING)
        self._thread = threading.Thread(target=self._write, name="output", daemon=True)
        self._thread.start()

    def put(self, line: bytes, seconds: float | None = None) -> None:
        """Write a line in its turn; without `seconds`, wait for that turn as long as it takes."""
        with contextlib.suppress(queue.Full):
            self._lines.put(line + b"\n", timeout=seconds)

    def close(self, seconds: float) -> None:
        """Wait until all is written, at most so long."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=seconds)
            self._thread.join(seconds)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):  # nobody reads any more: the job goes on
                while line:
                    line = line[os.write(1, line) :]


class Guard:
    """A process that kills what is left of our children when this process has ended."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        self.pipe: Final = self._popen.stdin

    def forget(self, group: int) -> None:
        """Say that a process group has ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe.fileno(), f"-{group}\n".encode())

    def close(self) -> None:
        """End it; it kills the groups that have not ended."""
        self.pipe.close()
        self._popen.wait()


class Child:
    """A child process, with the threads that read its output and wait for it.

    Args:
      name: what its lines begin with.
      command: what to run.
      env: its environment.
      events: gets ``("end", child, status)`` when it has ended and its output is read.
      output: where its lines go.
      guard: what ends it and all that it started when this process is killed.
      watched: whether `events` gets its lines too, as ``("line", child, text)``; then its
        standard input ends when the supervisor does, else at once.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        env: dict[str, str],
        events: Events,
        output: Output,
        guard: Guard,
        *,
        watched: bool = False,
    ) -> None:
        self.name = name
        self._output = output
        self._guard = guard
        self._lock = threading.Lock()
        self._is_over = False
        pipe = guard.pipe.fileno()
        tied = [sys.executable, "-I", "-S", str(_TIED), f"{os.getpid()}", f"{pipe}", *command]
        self._popen = subprocess.Popen(
            tied, env=env, pass_fds=(pipe,), process_group=0,
            stdin=subprocess.PIPE if watched else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        copy = (self._popen.stdout, events if watched else None)
        self._reader = threading.Thread(target=self._copy, args=copy, daemon=True)
        self._reader.start()
        self._waiter = threading.Thread(target=self._wait, args=(events,), daemon=True)
        self._waiter.start()

    def _copy(self, stream: IO[bytes], watcher: Events | None) -> None:
        prefix = f"[{self.name}] ".encode()
        with stream:
            while line := stream.readline(_LONGEST_LINE):
                self._output.put(prefix + line.removesuffix(b"\n"))
                if watcher is not None:
                    watcher.put(("line", self, line.decode(errors="replace")))

    def _wait(self, events: Events) -> None:
        if hasattr(os, "waitid"):  # leaves its number taken, so that the group is surely its own
            os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        with self._lock:
            self._is_over = True
            self._end_group()
            self._guard.forget(self._popen.pid)
            status = self._popen.wait()
        if self._popen.stdin is not None:
            self._popen.stdin.close()
        self._reader.join(_LAST_WORDS_SECONDS)  # its last words come before the news of its end
        events.put(("end", self, status))

    def _end_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)

    def send(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        with self._lock:
            if not self._is_over:
                os.kill(self._popen.pid, number)

    def kill(self) -> None:
        """End it and all that it started; `join` waits for that."""
        with self._lock:
            if not self._is_over:
                self._end_group()

    def join(self) -> None:
        """Wait until it has ended and its output is read."""
        self._waiter.join()
