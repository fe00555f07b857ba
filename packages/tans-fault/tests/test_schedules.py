"""Random schedules of real failures: no state differs, no step is skipped or applied twice."""

import random
import re
import zlib

import numpy as np
import pytest
from conftest import SOON

STEPS = 16
IN_CI = 5
IN_ALL = 50


def expected_states():
    """Return the digest of the state after each step, computed alone."""
    weight, log = np.full(3, 1.0), np.zeros((), np.int64)
    digests = {}
    for index in range(STEPS):
        weight = weight * 0.5 + float(sum((index + 1.0) * (i + 1) for i in range(12)))
        log = np.asarray((log * 31 + index + 1) % 1000003)
        digests[index + 1] = f"{zlib.crc32(weight.tobytes() + log.tobytes()):08x}"
    return digests


def check_lines(process, states):
    """Every step follows the one before and leads to the state that it must lead to."""
    found = re.findall(
        r"^(step|synced) (\d+) alive \S.*state (\w+)$", "\n".join(process.lines), re.M
    )
    last = None
    for event, text, digest in found:
        step = int(text)
        if step:
            assert digest == states[step], f"{process.name} at step {step}\n{process.text}"
        if event == "step" and last is not None:
            assert step == last + 1, f"{process.name}: {last} then {step}\n{process.text}"
        if event == "synced" and last is not None:
            assert step == last, f"{process.name} went from {last} to {step}\n{process.text}"
        last = step


def wait_for(process, pattern):
    """Wait for a line, or for the end of the loop if that comes first."""
    if not any(line.startswith("final ") for line in process.lines):
        process.expect(rf"{pattern}|^final ", SOON)


def run(job, seed, folder):
    """Play one schedule; return all processes that ever were."""
    choose = random.Random(seed)
    count = 2 + (0, 1, 0, 1, 0, 2, 1)[seed % 7]
    made = job(count, standalone=True)
    arguments = (str(STEPS), str(folder), "0.03")
    env = {"TANS_TEST_HEARTBEAT": "3", "TANS_TEST_COLLECTIVE": "4"}
    running = {i: made.start("elastic", i, *arguments, **env) for i in range(count)}
    first = list(running.values())
    at = 0
    for _ in range(1 if seed < IN_CI else choose.choice([1, 2, 3])):
        at += choose.randrange(1, 5)
        watched = running[choose.choice(sorted(running))]
        wait_for(watched, rf"^step {at} ")
        victim = choose.choice([i for i in running if running[i] is not watched] or [None])
        if victim is None:
            break
        running.pop(victim).kill()
        if choose.random() < 0.4:
            # Replaced after its loss was noticed; otherwise at once.
            wait_for(watched, r"^change ")
        running[victim] = made.start("elastic", victim, *arguments, **env)
        first.append(running[victim])
    for process in running.values():
        assert process.wait(2 * SOON) == 0, process.text
    finals = {line.split()[1] for p in running.values() for line in p.lines if "final " in line}
    assert len(finals) == 1
    return first, finals.pop()


@pytest.mark.parametrize(
    "seed",
    [*range(IN_CI), *(pytest.param(n, marks=pytest.mark.faults) for n in range(IN_CI, IN_ALL))],
)
def test_a_random_schedule(job, seed, tmp_path):
    states = expected_states()
    processes, final = run(job, seed, tmp_path)
    assert final == states[STEPS]
    for process in processes:
        check_lines(process, states)
