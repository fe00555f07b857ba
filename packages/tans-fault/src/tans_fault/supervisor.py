"""The supervisor behind `tans_fault.launch`: starts processes, restarts them, ends them.

It waits for events in one queue: a line or the end of a child, a signal, a time that is over. It
only ever signals children that it started itself, and what these have started.
"""

import dataclasses
import os
import queue
import re
import signal
import sys
import time
from typing import Any, Final

from tans_fault.children import Child, Guard, Output
from tans_fault.coordination import EXIT_COORDINATOR_LOST
from tans_fault.coordinator import free_port

_LONGEST_DELAY: Final = 30.0
_START_SECONDS: Final = 60.0
_OUTPUT_SECONDS: Final = 5.0
_STOPPING: Final = {signal.SIGTERM: signal.SIGTERM, signal.SIGINT: signal.SIGINT}
_STOPPING[signal.SIGHUP] = signal.SIGTERM  # what workers heed when the terminal is closed


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


class Supervisor:
    """One run of a job.

    Args:
      plan: what to run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # A simple queue, since a signal may arrive while its lock is held.
        self.events: queue.SimpleQueue[tuple[str, Child | None, Any]] = queue.SimpleQueue()
        self.output = Output()
        self.guard = Guard()
        self.workers: dict[int, Child] = {}
        self.finished: set[int] = set()
        self.coordinator: Child | None = None
        self.address = ""
        self.restarts = 0
        self.waiting: dict[int, float] = {}  # workers to start again, and when
        self.again: float | None = None  # when to start the job again
        self.starting: float | None = None  # until when the coordinator must listen
        self.stopping: float | None = None  # when to end what has not heeded SIGTERM

    def run(self) -> int:
        """Run to the end; return the exit status. No child is left behind."""
        limit = None if self.plan.seconds is None else time.monotonic() + self.plan.seconds
        previous = {
            number: signal.signal(number, lambda n, _: self.events.put(("signal", None, n)))
            for number in _STOPPING
        }
        try:
            self._start_job()
            return self._loop(limit)
        finally:
            self._close_all()
            self.guard.close()
            self.output.close(_OUTPUT_SECONDS)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _loop(self, limit: float | None) -> int:
        while len(self.finished) < self.plan.count:
            if self.stopping is not None and not self.workers:
                break
            ends = [limit, self.stopping, self.starting, self.again, *self.waiting.values()]
            next_time = min((t for t in ends if t is not None), default=None)
            try:
                pause = None if next_time is None else max(next_time - time.monotonic(), 0)
                event, child, value = self.events.get(timeout=pause)
            except queue.Empty:
                status = self._time_is_over(time.monotonic(), limit)
                if status is not None:
                    return status
                continue
            if event == "signal" and self.stopping is not None:
                self._say("told to stop again, ending all")
                return 1
            if event == "signal":
                self._stop(value)
            elif event == "line" and child is self.coordinator:
                self._heard(value)
            elif event == "end" and child is not None and not self._ended(child, value):
                return 1
        return 0 if len(self.finished) == self.plan.count else 1

    def _time_is_over(self, now: float, limit: float | None) -> int | None:
        """Do what is due; return the exit status when that is the end."""
        if limit is not None and now >= limit:
            self._say(f"time limit of {self.plan.seconds:g} s reached, ending all")
            return 124
        if self.stopping is not None and now >= self.stopping:
            self._say("workers did not end after the signal, ending them")
            return 1
        if self.starting is not None and now >= self.starting:
            self._say(
                f"the coordinator did not listen within {_START_SECONDS:g} s; expected a line "
                "with its address. Its output is above; free the machine, or use "
                "--embedded-coordinator"
            )
            return 1
        if self.again is not None and now >= self.again:
            self._start_job()
        for index in [i for i, when in self.waiting.items() if when <= now]:
            del self.waiting[index]
            if not self._may_restart():
                return 1
            self._say(f"starting worker {index} again")
            self._start_worker(index)
        return None

    def _start_job(self) -> None:
        self.finished.clear()
        self.again = None
        if self.plan.standalone:
            self._start_coordinator()
        else:
            self._start_workers(f"127.0.0.1:{free_port('127.0.0.1')}")

    def _start_coordinator(self) -> None:
        command = [sys.executable, "-m", "tans_fault.coordinator", "--end-with-input"]
        command += ["--num-processes", str(self.plan.count)]
        command += ["--heartbeat-timeout", str(self.plan.heartbeat)]
        command += [] if self.plan.recoverable else ["--no-recoverable"]
        self.starting = time.monotonic() + _START_SECONDS
        self.coordinator = self._start("coordinator", command, self._environment(), watched=True)

    def _heard(self, line: str) -> None:
        """Start the workers once the coordinator has said where it listens."""
        if self.starting is not None and (found := re.search(r"listens on (\S+)", line)):
            self.starting = None
            self._start_workers(found[1])

    def _start_workers(self, address: str) -> None:
        self.address = address
        if self.stopping is None:
            for index in range(self.plan.count):
                self._start_worker(index)

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
        command = list(self.plan.command)
        self.workers[index] = self._start(str(index), command, env)

    def _start(self, name: str, command: list[str], env: dict[str, str], **how: bool) -> Child:
        return Child(name, command, env, self.events, self.output, self.guard, **how)

    def _stop(self, number: int) -> None:
        """Pass a signal on; from now on nothing is restarted, and another signal ends all."""
        self.waiting.clear()
        self.again = None
        self.stopping = time.monotonic() + self.plan.grace
        for worker in self.workers.values():
            worker.send(_STOPPING[signal.Signals(number)])

    def _ended(self, child: Child, status: int) -> bool:
        """Act on the end of a child; return whether the job goes on."""
        if child is self.coordinator:
            return self._restart_job(f"coordinator lost (status {status})")
        index = next((i for i, w in self.workers.items() if w is child), None)
        if index is None:  # ended by us
            return True
        del self.workers[index]
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
        # It counts when it is due. If the coordinator's loss is the cause, the restart of the job
        # has taken its place by then.
        self.waiting[index] = time.monotonic() + self._delay()
        return True

    def _may_restart(self) -> bool:
        if self.restarts >= self.plan.restarts:
            self._say(f"given up after {self.restarts} restarts")
            return False
        self.restarts += 1
        return True

    def _delay(self) -> float:
        """Return how many seconds to wait before the next restart."""
        return min(self.plan.delay * 2 ** min(self.restarts, 60), _LONGEST_DELAY)

    def _restart_job(self, reason: str) -> bool:
        if self.stopping is not None:
            return True
        self._say(f"{reason}; starting all workers again from their checkpoint")
        delay = self._delay()
        if not self._may_restart():
            return False
        self._close_all()
        self.again = time.monotonic() + delay
        return True

    def _close_all(self) -> None:
        """End all children; what they still say is written first."""
        children = [*self.workers.values()] + ([self.coordinator] if self.coordinator else [])
        self.workers.clear()
        self.waiting.clear()
        self.coordinator = self.starting = None
        for child in children:
            child.kill()
        for child in children:
            child.join()

    def _say(self, text: str) -> None:
        self.output.put(f"[launch] {text}".encode(), _OUTPUT_SECONDS)
