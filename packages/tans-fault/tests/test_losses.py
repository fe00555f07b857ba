"""Acceptance list: processes that are lost, stopped and started anew. Real processes."""

import re
import signal
import time

import pytest
from conftest import BUSY, COLLECTIVE, GRACE, HEARTBEAT

BOUND = max(HEARTBEAT, COLLECTIVE) + GRACE + BUSY
STEPS = "1000000"


def run_until_step(job, count, step=3, **options):
    made = job(count, **options)
    processes = made.start_all("steps", STEPS)
    for process in processes:
        process.expect(rf"step {step} ")
    return made, processes


def check_failure(survivors, lost, start):
    """All report the same loss in time, keep the weight and go on together."""
    for process in survivors:
        found = process.expect(r"failed \[(.*)\] after (\S+) because (\w+) weight (\S+)")
        assert found[1] == str(lost)
        assert found[3] in ("JaxRuntimeError", "NoneType")
        seconds = time.monotonic() - start
        assert seconds < BOUND, f"{process.name} measured {found[2]} s itself"
    return [check_next_step(process, len(survivors)) for process in survivors]


def check_next_step(process, count):
    """The next step adds `count` to the weight of the step before."""
    text = "\n".join(process.lines)
    before = float(re.findall(r"failed .* weight (\S+)", text)[-1])
    at = re.findall(r"step (\d+) alive .* weight (\S+)", text)[-1]
    assert float(at[1]) == before, "the failed step changed the state"
    found = process.expect(r"step (\d+) alive \[(.*)\] weight (\S+)")
    assert int(found[1]) == int(at[0]) + 1
    assert float(found[3]) == before + count
    return found[0]


@pytest.mark.parametrize(
    "count",
    [2, pytest.param(3, marks=pytest.mark.faults), pytest.param(4, marks=pytest.mark.faults)],
)
def test_A03_A04_A28_a_worker_killed_in_a_step(job, count):
    _, processes = run_until_step(job, count)
    start = time.monotonic()
    processes[-1].kill()
    assert len(set(check_failure(processes[:-1], count - 1, start))) == 1


@pytest.mark.faults
def test_A03_a_loss_is_told_although_the_process_that_takes_the_roll_is_busy(job):
    processes = job(3).start_all("held", STEPS)
    for process in processes:
        process.expect("step 3 ")
    start = time.monotonic()
    processes[2].kill()
    processes[1].expect(r"failed \[2\]")
    assert time.monotonic() - start < BOUND


@pytest.mark.faults
def test_A28_on_every_path_a_collective_without_its_peer_raises_the_same_class(job):
    first, second = job(2).start_all("paths")
    for process in (first, second):
        process.expect("ready")
    second.kill()
    first.tell()
    paths = "cached compiled partitioned read number device_get gathered gradient eager new"
    for path in paths.split():
        first.expect(rf"^{path} raised JaxRuntimeError", BOUND)
    first.expect("done")


@pytest.mark.faults
def test_A01_a_lost_worker_ends_a_job_that_can_lose_none(job):
    processes = job(3, recoverable=False).start_all("waiting")
    for process in processes:
        process.expect("ready")
    start = time.monotonic()
    processes[2].kill()
    for process in processes[:2]:
        assert process.wait(HEARTBEAT + GRACE + BUSY) != 0
        assert time.monotonic() - start < HEARTBEAT + GRACE + BUSY
        assert re.search(r"unhealthy[^\n]*:\n2\n", "\n".join(process.lines))


@pytest.mark.faults
def test_A02_an_idle_worker_lost_is_only_noticed_when_asked(job):
    processes = job(3).start_all("waiting")
    for process in processes:
        process.expect("ready")
        process.tell("alive")
    for process in processes:
        process.expect(r"alive \[0, 1, 2\]")
    processes[2].kill()
    assert processes[0].still_runs(3 * HEARTBEAT)
    assert processes[1].still_runs(0)
    for process in processes[:2]:
        process.tell("alive")
    for process in processes[:2]:
        process.expect("ProcessFailureError: Devices failed: .*4096")


@pytest.mark.faults
def test_A05_four_processes_shrink_to_two(job):
    _, processes = run_until_step(job, 4)
    for victim in (3, 1):
        start = time.monotonic()
        processes[victim].kill()
        survivors = [p for p in processes if p.popen.poll() is None]
        assert len(set(check_failure(survivors, victim, start))) == 1


@pytest.mark.faults
@pytest.mark.parametrize(("victim", "standalone"), [(2, False), (0, True)], ids=["A06", "A09"])
def test_A06_A09_a_worker_comes_back_after_the_timeout(job, victim, standalone):
    made = job(3, standalone=standalone)
    processes = made.start_all("elastic", STEPS, "-", "0.05")
    for process in processes:
        process.expect("step 4 ")
    processes[victim].kill()
    survivors = [p for i, p in enumerate(processes) if i != victim]
    others = [i for i in range(3) if i != victim]
    for process in survivors:
        process.expect(rf"change \d+ alive {re.escape(str(others))}", BOUND)
        process.expect(r"step ")
    back = made.start("elastic", victim, STEPS, "-", "0.05")
    back.expect("joined")
    start = time.monotonic()
    step = back.expect(r"step (\d+) alive \[0, 1, 2\] state \w+")
    assert time.monotonic() - start < 5 + BUSY
    for process in survivors:
        assert process.expect(rf"step {step[1]} alive .*")[0] == step[0]


@pytest.mark.faults
def test_A07_a_worker_comes_back_before_the_timeout(job):
    made, processes = run_until_step(job, 2)
    processes[1].kill()
    back = made.start("steps", 1, STEPS)
    processes[0].expect(r"failed \[1\]", BOUND)
    processes[0].expect(r"step \d+ alive \[0, 1\]")
    back.expect(r"step 1 alive \[0, 1\]")


@pytest.mark.faults
def test_A08_kill_and_rejoin_five_times(job):
    made = job(2)
    first, second = made.start_all("elastic", STEPS, "-", "0.02")
    for _ in range(5):
        first.expect(r"step \d+ alive \[0, 1\]")
        second.expect(r"step \d+ alive \[0, 1\]")
        second.kill()
        first.expect(r"change \d+ alive", BOUND)
        second = made.start("elastic", 1, STEPS, "-", "0.02")
        step = second.expect(r"step (\d+) alive \[0, 1\] state \w+")
        assert first.expect(rf"step {step[1]} alive .*")[0] == step[0]


@pytest.mark.faults
@pytest.mark.parametrize("standalone", [False, True], ids=["A10", "A11"])
def test_A10_A11_the_coordinator_lost_ends_all_at_once(job, standalone):
    made, processes = run_until_step(job, 3, standalone=standalone)
    start = time.monotonic()
    (made.coordinator if standalone else processes[0]).kill()
    for process in processes[0 if standalone else 1 :]:
        assert process.wait(GRACE + BUSY) == 75
        assert sum("coordinator lost" in line for line in process.lines) == 1
    assert time.monotonic() - start < GRACE + BUSY


@pytest.mark.faults
def test_A14_A15_a_stopped_worker_is_left_out_and_ends_itself(job):
    made, processes = run_until_step(job, 3)
    start = time.monotonic()
    processes[2].send(signal.SIGSTOP)
    assert len(set(check_failure(processes[:2], 2, start))) == 1
    processes[2].send(signal.SIGCONT)
    assert processes[2].wait(HEARTBEAT + GRACE + BUSY) != 0
    for process in processes[:2]:
        process.expect(r"step \d+ alive \[0, 1\]")
    back = made.start("steps", 2, STEPS)
    back.expect(r"step 1 alive \[0, 1, 2\]")


@pytest.mark.faults
def test_A21_a_worker_that_leaves_early(job):
    made = job(3)
    processes = [made.start("steps", i, "5" if i == 2 else STEPS) for i in range(3)]
    assert processes[2].wait() == 0
    for process in processes[:2]:
        process.expect(r"failed \[2\]", BOUND)
        process.expect(r"step 6 alive \[0, 1\]")


@pytest.mark.faults
def test_A22_process_0_waits_for_those_that_need_its_coordinator(job):
    first, second = job(2).start_all("waiting")
    for process in (first, second):
        process.expect("ready")
    first.tell("shutdown")
    assert first.still_runs(HEARTBEAT + GRACE)
    second.tell("shutdown")
    assert second.wait() == 0
    assert first.wait() == 0


@pytest.mark.faults
def test_A23_leaving_with_a_dead_peer_does_not_wait(job):
    processes = job(3).start_all("waiting")
    for process in processes:
        process.expect("ready")
    processes[2].kill()
    for process in (processes[1], processes[0]):
        start = time.monotonic()
        process.tell("shutdown")
        assert process.wait() == 0
        assert time.monotonic() - start < 5 + BUSY
