"""Processes and coordinators that are lost at a chosen moment of a start, an epoch or a save."""

import time

import pytest
from conftest import BUSY, GRACE, HEARTBEAT

from tans_fault import Checkpoints

MANY = "1000000"
# Two exchanges that wait for a dead process, and jaxlib's start of a client.
BOUND = 2 * HEARTBEAT + GRACE + BUSY


def alone(steps):
    """Return the text of the state after each step, computed without processes."""
    values = [1.0]
    for _ in range(steps):
        values.append(values[-1] * 0.5 + 12.0)
    return values


def expect_step(process, alive, seconds=BOUND):
    """Return the next step of a process with these alive."""
    shown = repr(alive).replace("[", r"\[").replace("]", r"\]")
    found = process.expect(rf"^step (\d+) alive {shown} state np.float64\((\S+)\)", seconds)
    assert float(found[2]) == alone(int(found[1]))[-1]
    return int(found[1])


def test_the_coordinator_lost_in_the_roll_call(job, tmp_path):
    made = job(2, standalone=True)
    process = made.start("phases", 1, "-", "8", str(tmp_path))
    process.expect("starting")
    time.sleep(1.5)  # until it is in the roll call
    start = time.monotonic()
    made.coordinator.kill()
    process.expect("TimeoutError.*(was lost|nothing listens).*", GRACE + BUSY + 60)
    assert process.wait() == 1
    assert time.monotonic() - start < GRACE + BUSY + 60


def test_the_coordinator_lost_before_the_connection(job, tmp_path):
    made = job(2, standalone=True)
    first = made.start("phases", 0, "-", "8", str(tmp_path))
    second = made.start("phases", 1, "connect:1", "8", str(tmp_path))
    second.expect("at connect")
    start = time.monotonic()
    made.coordinator.kill()
    for process in (first, second):
        assert process.wait(GRACE + BUSY) == 75
    assert time.monotonic() - start < GRACE + BUSY


def test_a_process_lost_before_its_connection_is_named(job, tmp_path):
    made = job(2, standalone=True)
    env = {"TANS_TEST_START_SECONDS": "8"}
    first = made.start("phases", 0, "-", "8", str(tmp_path), **env)
    second = made.start("phases", 1, "connect:1", "8", str(tmp_path), **env)
    second.expect("at connect")
    second.kill()
    first.expect("TimeoutError.*after the roll call for 2 processes.*did not come: 1")
    assert first.wait() == 1


def test_a_process_lost_before_its_connection_is_replaced(job, tmp_path):
    made = job(2, standalone=True)
    first = made.start("phases", 0, "-", "8", str(tmp_path))
    second = made.start("phases", 1, "connect:1", "8", str(tmp_path))
    second.expect("at connect")
    second.kill()
    again = made.start("phases", 1, "-", "8", str(tmp_path))
    for process in (first, again):
        process.expect(rf"final \[{alone(8)[-1]}")
        assert process.wait() == 0


@pytest.mark.faults
@pytest.mark.parametrize("place", ["meet:1", "meet:2", "client:1", "save:1"])
def test_the_coordinator_lost_at_a_place(job, tmp_path, place):
    made = job(2, standalone=True)
    first = made.start("phases", 0, place, MANY, str(tmp_path))
    second = made.start("phases", 1, "-", MANY, str(tmp_path))
    first.expect(f"at {place.partition(':')[0]}")
    start = time.monotonic()
    made.coordinator.kill()
    for process in (first, second):
        assert process.wait(GRACE + BUSY) == 75
    assert time.monotonic() - start < GRACE + BUSY
    assert not list(tmp_path.glob("step-*"))  # the first save was not finished
    again = job(2, standalone=True)
    processes = again.start_all("phases", "-", "8", str(tmp_path))
    for process in processes:
        process.expect(rf"final \[{alone(8)[-1]}")
        assert process.wait() == 0


@pytest.mark.faults
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_lost_before_its_first_topology_is_awaited(job, tmp_path, victim):
    made = job(3, standalone=True)
    places = ["client:1" if i == victim else "-" for i in range(3)]
    processes = [made.start("phases", i, places[i], MANY, str(tmp_path)) for i in range(3)]
    processes[victim].expect("at client")
    time.sleep(1.0)  # until the others wait for it inside jaxlib
    start = time.monotonic()
    processes[victim].kill()
    processes[victim] = made.start("phases", victim, "-", MANY, str(tmp_path))
    for process in processes:
        expect_step(process, [0, 1, 2], BOUND)
    assert time.monotonic() - start < BOUND


@pytest.mark.faults
def test_process_0_lost_before_its_topology_does_not_hold_up_the_others(job, tmp_path):
    made = job(3, standalone=True)
    processes = [made.start("phases", 0, "client:2", MANY, str(tmp_path))]
    processes += [made.start("phases", i, "-", MANY, str(tmp_path)) for i in (1, 2)]
    for process in processes:
        expect_step(process, [0, 1, 2], 60)
    processes[2].kill()
    processes[2] = made.start("phases", 2, "-", MANY, str(tmp_path))
    processes[0].expect("at client")
    time.sleep(1.0)
    start = time.monotonic()
    processes[0].kill()
    for process in processes[1:]:
        expect_step(process, [1, 2])
    assert time.monotonic() - start < BOUND
    back = made.start("phases", 0, "-", MANY, str(tmp_path))
    expect_step(back, [0, 1, 2], 60)


def test_the_process_that_saves_lost_at_the_end_is_stood_in_for(job, tmp_path):
    made = job(2, standalone=True)
    first = made.start("phases", 0, "save:2", "8", str(tmp_path))
    second = made.start("phases", 1, "-", "8", str(tmp_path))
    first.expect("at save")
    second.expect("^step 8 ")
    assert Checkpoints(tmp_path).steps() == [4]
    assert second.still_runs(1.0)
    first.kill()
    second.expect(rf"final \[{alone(8)[-1]}")
    assert second.wait() == 0
    assert Checkpoints(tmp_path).steps() == [4, 8]
