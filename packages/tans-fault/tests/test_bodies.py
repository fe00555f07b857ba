"""Acceptance list: failures of a step in which nobody is lost, partitions, preemption."""

import contextlib
import selectors
import signal
import socket
import threading
import time

import pytest
from conftest import BUSY, COLLECTIVE, GRACE, HEARTBEAT

from tans_fault.coordinator import free_port


def test_A18_an_exception_in_one_body(job):
    first, second = job(2).start_all("bodies", "bug")
    for process in (first, second):
        process.expect("step 1 sum 2.0")
    start = time.monotonic()
    second.expect("raised KeyError 'a local mistake'", COLLECTIVE + GRACE + BUSY)
    first.expect("raised JaxRuntimeError", COLLECTIVE + GRACE + BUSY)
    assert time.monotonic() - start < COLLECTIVE + GRACE + BUSY
    assert [first.wait(), second.wait()] == [0, 0]


@pytest.mark.faults
def test_A17_connections_between_processes_cut(job):
    processes = job(2).start_all("bodies", "partition")
    for process in processes:
        process.expect("step 1 sum 2.0")
    for process in processes:
        process.expect("raised JaxRuntimeError", COLLECTIVE + GRACE + BUSY)
        assert not any(line.startswith("failed") for line in process.lines)
    assert [process.wait() for process in processes] == [0, 0]


@pytest.mark.faults
def test_A17_the_elastic_loop_connects_anew_after_a_cut(job):
    processes = job(2).start_all("cuts", "once")
    for process in processes:
        process.expect("failure 3")
        process.expect("synced 3")
        process.expect(r"final \[16\.0\]")


@pytest.mark.faults
def test_A17_three_cuts_in_a_row_are_an_error(job):
    processes = job(2).start_all("cuts", "always")
    for process in processes:
        process.expect("StepFailedError.*step 3 failed 3 times")
        assert process.wait() == 1


class Relay:
    """Passes bytes between a port and another, until told to stop."""

    def __init__(self, port: int, target: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._server = socket.create_server(("127.0.0.1", port))
        self._selector.register(self._server, selectors.EVENT_READ, None)
        self._target = target
        self._open = True
        self.cut = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._open:
            for key, _ in self._selector.select(0.2):
                if self.cut.is_set():
                    self._selector.unregister(key.fileobj)
                elif key.data is None:
                    self._accept()
                else:
                    self._pass(key)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def _accept(self) -> None:
        near, _ = self._server.accept()
        far = socket.create_connection(("127.0.0.1", self._target))
        self._selector.register(near, selectors.EVENT_READ, far)
        self._selector.register(far, selectors.EVENT_READ, near)
        self._pairs = [*getattr(self, "_pairs", []), near, far]

    def _pass(self, key: selectors.SelectorKey) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = key.fileobj.recv(1 << 16)
        if data:
            with contextlib.suppress(OSError):
                key.data.sendall(data)
            return
        self._selector.unregister(key.fileobj)
        with contextlib.suppress(OSError):
            key.data.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it."""
        self._open = False
        self._thread.join()
        for pair in [*getattr(self, "_pairs", []), self._server]:
            pair.close()


@pytest.mark.faults
def test_A16_a_process_cut_off_from_the_coordinator_ends_and_the_other_goes_on(job):
    made = job(2, standalone=True)  # it listens before the relay connects
    port = free_port("127.0.0.1")
    relays = [Relay(port + i, made.port + i) for i in range(2)]
    try:
        first = made.start("steps", 0, "1000000")
        second = made.start("steps", 1, "1000000", TANS_TEST_ADDRESS=f"127.0.0.1:{port}")
        for process in (first, second):
            process.expect("step 3 ")
        for relay in relays:
            relay.cut.set()
        assert second.wait(2 * HEARTBEAT + COLLECTIVE + GRACE + BUSY) != 0
        first.expect(r"failed \[1\]", 2 * HEARTBEAT + COLLECTIVE + GRACE + BUSY)
        at = int(first.expect(r"step (\d+) alive \[0\]")[1])
        first.expect(rf"step {at + 5} alive \[0\]")
    finally:
        for relay in relays:
            relay.close()


@pytest.mark.faults
def test_A20_all_stop_at_the_same_step_after_sigterm(job, tmp_path):
    processes = job(2).start_all("preemption", str(tmp_path))
    for process in processes:
        process.expect("step 2")
    processes[1].send(signal.SIGTERM)
    stopped = {process.expect(r"stopped at (\d+)")[1] for process in processes}
    assert [process.wait() for process in processes] == [0, 0]
    assert stopped == {(tmp_path / "checkpoint").read_text()}
