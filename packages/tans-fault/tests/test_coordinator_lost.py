"""The coordinator lost at random moments: every process ends as it is documented."""

import random
import time

import pytest
from conftest import BUSY, GRACE

IN_CI = 2
IN_ALL = 20
EXIT_COORDINATOR_LOST = 75


def lose_one(job, processes, choose, *arguments, **env):
    """Kill a process and perhaps replace it; return those that are there afterwards."""
    victim = choose.randrange(0 if job.standalone else 1, len(processes))
    processes[victim].kill()
    time.sleep(choose.random() * 3)
    others = [p for i, p in enumerate(processes) if i != victim]
    if choose.random() < 0.5:
        others.append(job.start("elastic", victim, *arguments, **env))
        others[-1].expect("joined")
    return others


@pytest.mark.parametrize(
    "seed",
    [*range(IN_CI), *(pytest.param(n, marks=pytest.mark.faults) for n in range(IN_CI, IN_ALL))],
)
def test_every_process_says_so_and_ends_with_75(job, seed, tmp_path):
    choose = random.Random(seed)
    count = choose.choice([2, 3, 4])
    made = job(count, standalone=seed % 3 != 0)
    env = {"TANS_TEST_HEARTBEAT": "3", "TANS_TEST_COLLECTIVE": "4"}
    arguments = ("1000000", str(tmp_path), choose.choice(["0", "0.01", "0.1"]))
    processes = made.start_all("elastic", *arguments, **env)
    for process in processes:
        process.expect("joined")
    choose.choice(processes).expect(choose.choice(["joined|synced 0", "step 1 ", "step 8 "]))
    if choose.random() < 0.4:
        processes = lose_one(made, processes, choose, *arguments, **env)
    time.sleep(choose.random() * 1.5)
    start = time.monotonic()
    (made.coordinator or processes[0]).kill()
    for process in processes[0 if made.standalone else 1 :]:
        assert process.wait(GRACE + BUSY) == EXIT_COORDINATOR_LOST, process.text
        assert sum("coordinator lost" in line for line in process.lines) == 1
        assert "Traceback" not in process.text, process.text
    assert time.monotonic() - start < GRACE + BUSY
