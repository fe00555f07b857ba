"""Jobs of real processes on the loopback interface, each bounded in time and ended afterwards."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tans_fault.coordinator import free_port

PROGRAMS = Path(__file__).parent / "programs"
HEARTBEAT = 4
COLLECTIVE = 6
# What the acceptance list allows beyond a timeout, and what a busy machine needs on top.
GRACE = 2.0
BUSY = 12.0
# A generous bound for anything that should take a moment, on a machine shared with others.
SOON = 60.0


class Process:
    """One child process, its lines as they come, and waits for them."""

    def __init__(self, command: list[str], env: dict[str, str], name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.times: list[float] = []
        self._cursor = 0
        self._new: queue.Queue[str | None] = queue.Queue()
        self.popen = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self.popen.stdout as stream:
            for line in stream:
                self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def expect(self, pattern: str, seconds: float = SOON) -> re.Match:
        """Return the match of the next line that has `pattern`; lines before it are passed."""
        end = time.monotonic() + seconds
        while True:
            while self._cursor < len(self.lines):
                line = self.lines[self._cursor]
                self._cursor += 1
                found = re.search(pattern, line)
                if found:
                    return found
            try:
                line = self._new.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise AssertionError(f"no {pattern!r} within {seconds} s\n{self.text}") from None
            if line is None:
                self._new.put(None)
                raise AssertionError(f"{self.name} ended without {pattern!r}\n{self.text}")
            self.lines.append(line)
            self.times.append(time.monotonic())

    @property
    def text(self) -> str:
        """Everything read so far."""
        return f"--- {self.name}\n" + "\n".join(self.lines[-60:])

    def wait(self, seconds: float = SOON) -> int:
        """Return the exit status; drains the output."""
        end = time.monotonic() + seconds
        try:
            status = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            while not self._new.empty():
                self.lines.append(str(self._new.get()))
            raise AssertionError(f"{self.name} still runs after {seconds} s\n{self.text}") from None
        while True:
            line = self._new.get(timeout=max(end - time.monotonic(), 5.0))
            if line is None:
                self._new.put(None)
                return status
            self.lines.append(line)
            self.times.append(time.monotonic())

    def unread(self) -> list[str]:
        """Return the lines that no one has waited for; only after `close`."""
        found = []
        while not self._new.empty():
            found.append(str(self._new.get()))
        return found

    def tell(self, line: str = "") -> None:
        """Write a line to its standard input."""
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def still_runs(self, seconds: float) -> bool:
        """Watch it for some time; return whether it has not ended."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def send(self, number: int) -> None:
        """Send a signal."""
        self.popen.send_signal(number)

    def kill(self) -> None:
        """End it as a lost machine would."""
        self.popen.kill()
        self.popen.wait()

    def close(self) -> None:
        """End it if it runs, and close its output."""
        if self.popen.poll() is None:
            self.send(signal.SIGCONT)
            self.kill()
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.close()
        self._reader.join()


class Job:
    """Processes of one multi-process program.

    Args:
      count: number of processes.
      standalone: whether a coordinator of its own runs.
    """

    def __init__(self, count: int, *, standalone: bool = False, recoverable: bool = True) -> None:
        self.count = count
        self.port = free_port("127.0.0.1")
        self.address = f"127.0.0.1:{self.port}"
        self.standalone = standalone
        self.recoverable = recoverable
        self.all: list[Process] = []
        self.coordinator: Process | None = None
        if standalone:
            options = f"--address {self.address} --num-processes {count}"
            options += f" --heartbeat-timeout {HEARTBEAT}"
            options += "" if recoverable else " --no-recoverable"
            command = ["-m", "tans_fault.coordinator", *options.split()]
            self.coordinator = self.run(command, "coordinator")
            try:
                self.coordinator.expect("coordinator listens")
            except BaseException:
                self.end()
                raise

    def run(self, arguments: list[str], name: str, env: dict[str, str] | None = None) -> Process:
        """Start a Python program."""
        clean = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        clean |= {
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": "1",
            "PYTHONUNBUFFERED": "1",
            "TANS_TEST_COUNT": str(self.count),
            "TANS_TEST_ADDRESS": self.address,
            "TANS_TEST_STANDALONE": "1" if self.standalone else "",
            "TANS_ENABLE_RECOVERABILITY": "1" if self.recoverable else "0",
            "PYTHONPATH": os.pathsep.join([str(PROGRAMS), os.environ.get("PYTHONPATH", "")]),
            **(env or {}),
        }
        process = Process([sys.executable, *arguments], clean, name)
        self.all.append(process)
        return process

    def start(self, program: str, process_id: int, *arguments: str, **env: str) -> Process:
        """Start one process of the job."""
        env["TANS_TEST_ID"] = str(process_id)
        path = str(PROGRAMS / f"{program}.py")
        return self.run([path, *arguments], f"process {process_id}", env)

    def start_all(self, program: str, *arguments: str, **env: str) -> list[Process]:
        """Start all processes of the job."""
        return [self.start(program, i, *arguments, **env) for i in range(self.count)]

    def end(self) -> None:
        """End what still runs; pytest shows what is printed if the test failed."""
        for process in self.all:
            print(f"{process.name} has status {process.popen.poll()}")
            print(process.text)
        for process in self.all:
            process.close()
        if self.coordinator is not None:
            print("\n".join([*self.coordinator.lines, *self.coordinator.unread()]))


@pytest.fixture
def job() -> Iterator[Callable[..., Job]]:
    """Function that makes jobs, which are ended after the test."""
    jobs: list[Job] = []

    def make(count: int, **options: bool) -> Job:
        jobs.append(Job(count, **options))
        return jobs[-1]

    yield make
    for made in jobs:
        made.end()
