"""The supervisor behind `tans_fault.launch`: starts processes, restarts them, ends them.

It waits for events in one queue: a child's end, a signal, the time limit. It only ever signals
children that it started itself.
"""

import dataclasses
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, Final

from tans_fault.coordinator import free_port
from tans_fault.distributed import EXIT_COORDINATOR_LOST

_LONGEST_DELAY: Final = 30.0
_START_SECONDS: Final = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and how long to try.

    Attributes:
      command: the program of each worker.
      count: number of workers.
      standalone: whether the coordinator is a process of its own.
      recoverable: whether the job lives on when a worker is lost.
      restarts: how many restarts there may be in all.
      delay: seconds before the first of them, doubled at each.
      seconds: time limit of the whole, or None.
      grace: seconds from SIGTERM to SIGKILL.
      heartbeat: seconds after which a silent worker counts as dead.
      collective: seconds that a collective waits.
    """

    command: tuple[str, ...]
    count: int
    standalone: bool = True
    recoverable: bool = True
    restarts: int = 10
    delay: float = 0.25
    seconds: float | None = None
    grace: float = 30.0
    heartbeat: int = 10
    collective: int = 20


class Child:
    """A child process, the threads that read its output and wait for it."""

    def __init__(
        self, name: str, command: list[str], env: dict[str, str], events: "queue.Queue[Any]"
    ) -> None:
        self.name = name
        self.popen = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.first_line: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=self._copy, args=(self.popen.stdout,), daemon=True)
        reader.start()
        threading.Thread(target=self._wait, args=(reader, events), daemon=True).start()

    def _copy(self, stream: IO[bytes]) -> None:
        """Pass lines on, each with one write, so that those of several workers do not mix."""
        with stream:
            for line in stream:
                self.first_line.put(line.decode(errors="replace"))
                write(f"[{self.name}] ".encode() + line.rstrip(b"\n"))
        self.first_line.put(None)

    def _wait(self, reader: threading.Thread, events: "queue.Queue[Any]") -> None:
        status = self.popen.wait()
        reader.join()  # its last words come before the news of its end
        events.put(("end", self, status))

    def send(self, number: int) -> None:
        """Send a signal if it still runs."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def close(self) -> None:
        """End it now and forget it."""
        self.send(signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdin is not None:
            self.popen.stdin.close()


def write(line: bytes) -> None:
    """Write one line to standard output, with one write."""
    os.write(1, line + b"\n")


class Supervisor:
    """One run of a job.

    Args:
      plan: what to run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.events: queue.Queue[Any] = queue.Queue()
        self.workers: dict[int, Child] = {}
        self.finished: set[int] = set()
        self.coordinator: Child | None = None
        self.address = ""
        self.restarts = 0
        self.waiting: dict[int, float] = {}  # workers to start again, and when
        self.stopping: float | None = None  # when to end what has not heeded SIGTERM

    def run(self) -> int:
        """Run to the end; return the exit status. No child is left behind."""
        limit = None if self.plan.seconds is None else time.monotonic() + self.plan.seconds
        previous = {
            number: signal.signal(number, lambda n, _: self.events.put(("signal", None, n)))
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self._start_job()
            return self._loop(limit)
        finally:
            self._close_all()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _loop(self, limit: float | None) -> int:
        while len(self.finished) < self.plan.count:
            ends = [limit, self.stopping, *self.waiting.values()]
            next_time = min((t for t in ends if t is not None), default=None)
            try:
                pause = None if next_time is None else max(next_time - time.monotonic(), 0)
                event, child, value = self.events.get(timeout=pause)
            except queue.Empty:
                now = time.monotonic()
                if limit is not None and now >= limit:
                    self._say(f"time limit of {self.plan.seconds:g} s reached, ending all")
                    return 124
                if self.stopping is not None and now >= self.stopping:
                    self._say("workers did not end after SIGTERM, ending them")
                    return 1
                self._start_due(now)
                continue
            if event == "signal":
                self._stop(value)
            elif not self._ended(child, value):
                return 1
            if self.stopping is not None and not self._running():
                break
        return 0 if len(self.finished) == self.plan.count else 1

    def _running(self) -> bool:
        return any(w.popen.poll() is None for w in self.workers.values())

    def _start_job(self) -> None:
        self.finished.clear()
        self.waiting.clear()
        if self.plan.standalone:
            self._start_coordinator()
        else:
            self.address = f"127.0.0.1:{free_port('127.0.0.1')}"
        for index in range(self.plan.count):
            self._start_worker(index)

    def _start_coordinator(self) -> None:
        command = [sys.executable, "-m", "tans_fault.coordinator", "--end-with-input"]
        command += ["--num-processes", str(self.plan.count)]
        command += ["--heartbeat-timeout", str(self.plan.heartbeat)]
        command += [] if self.plan.recoverable else ["--no-recoverable"]
        self.coordinator = Child("coordinator", command, self._environment(), self.events)
        end = time.monotonic() + _START_SECONDS
        while True:
            line = self.coordinator.first_line.get(timeout=max(end - time.monotonic(), 0.001))
            if line is None:
                raise RuntimeError(
                    "tans_fault.launch: the coordinator did not start; expected it to listen on "
                    "a free port of 127.0.0.1. Its output is above."
                )
            if found := re.search(r"listens on (\S+)", line):
                self.address = found[1]
                return

    def _environment(self) -> dict[str, str]:
        """Return ours without proxies, which must not come between processes of one machine."""
        return {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}

    def _start_worker(self, index: int) -> None:
        env = self._environment() | {
            "TANS_LAUNCH_ADDRESS": self.address,
            "TANS_LAUNCH_NUM_PROCESSES": str(self.plan.count),
            "TANS_LAUNCH_PROCESS_ID": str(index),
            "TANS_LAUNCH_STANDALONE": "1" if self.plan.standalone else "0",
            "TANS_ENABLE_RECOVERABILITY": "1" if self.plan.recoverable else "0",
            "TANS_HEARTBEAT_TIMEOUT_SECONDS": str(self.plan.heartbeat),
            "TANS_COLLECTIVE_TIMEOUT_SECONDS": str(self.plan.collective),
            "PYTHONUNBUFFERED": "1",
        }
        self.workers[index] = Child(str(index), list(self.plan.command), env, self.events)

    def _start_due(self, now: float) -> None:
        for index in [i for i, when in self.waiting.items() if when <= now]:
            del self.waiting[index]
            self._say(f"starting worker {index} again")
            self._start_worker(index)

    def _stop(self, number: int) -> None:
        """Pass a signal on; from now on nothing is restarted."""
        self.waiting.clear()
        self.stopping = time.monotonic() + self.plan.grace
        for worker in self.workers.values():
            worker.send(number)

    def _ended(self, child: Child, status: int) -> bool:
        """Act on the end of a child; return whether the job goes on."""
        if child is self.coordinator:
            return self._restart_job(f"coordinator lost (status {status})")
        index = next((i for i, w in self.workers.items() if w is child), None)
        if index is None:  # ended by us
            return True
        if status == 0:
            self.finished.add(index)
            return True
        self._say(f"worker {index} ended with status {status}")
        if self.stopping is not None:
            return True
        if status == EXIT_COORDINATOR_LOST or (index == 0 and not self.plan.standalone):
            return self._restart_job("coordinator lost")
        if not self.plan.recoverable:
            return self._restart_job("a worker of a job that can lose none was lost")
        return self._restart_worker(index)

    def _may_restart(self) -> bool:
        if self.restarts >= self.plan.restarts:
            self._say(f"given up after {self.restarts} restarts")
            return False
        self.restarts += 1
        return True

    def _restart_worker(self, index: int) -> bool:
        if not self._may_restart():
            return False
        delay = min(self.plan.delay * 2 ** (self.restarts - 1), _LONGEST_DELAY)
        self.waiting[index] = time.monotonic() + delay
        return True

    def _restart_job(self, reason: str) -> bool:
        if self.stopping is not None:
            return True
        self._say(f"{reason}; starting all workers again from their checkpoint")
        if not self._may_restart():
            return False
        self._close_all()
        self._start_job()
        return True

    def _close_all(self) -> None:
        for worker in self.workers.values():
            worker.close()
        self.workers.clear()
        if self.coordinator is not None:
            coordinator, self.coordinator = self.coordinator, None
            coordinator.close()

    def _say(self, text: str) -> None:
        write(f"[launch] {text}".encode())
