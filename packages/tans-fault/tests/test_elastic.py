"""Elastic loops whose programs have mistakes, and losses at awkward moments."""

import re
import signal
import time

import numpy as np
import pytest
from conftest import BUSY, COLLECTIVE, GRACE, HEARTBEAT

from tans_fault import Checkpoints

BOUND = max(HEARTBEAT, COLLECTIVE) + GRACE + BUSY


def alone(steps):
    """Return what the first weight is after so many steps."""
    value = 1.0
    for _ in range(steps):
        value = value * 0.5 + 12.0
    return value


def check_states(*processes):
    """Every reported state is the one that its step must lead to."""
    for process in processes:
        text = "\n".join(process.lines)
        for step, value in re.findall(r"(?:step|synced) (\d+) .*state np.float64\((\S+)\)", text):
            assert float(value) == alone(int(step)), process.text


def test_a_mistake_of_one_process_costs_that_process(job, tmp_path):
    first, second = job(2, standalone=True).start_all("misuse", "bug", str(tmp_path))
    second.expect("raised KeyError 'a mistake of mine'")
    assert second.wait() == 1
    first.expect(r"change 3 alive \[0\]", BOUND)
    first.expect(f"final {alone(8)} 8")
    assert first.wait() == 0
    check_states(first)


def test_a_mistake_of_all_is_raised_on_all(job, tmp_path):
    for process in job(2, standalone=True).start_all("misuse", "bug of all", str(tmp_path)):
        process.expect("raised KeyError 'a mistake of all'")
        assert process.wait() == 1
    assert Checkpoints(tmp_path).steps() == []


@pytest.mark.faults
def test_a_process_that_exits_in_a_step_is_left_out(job, tmp_path):
    first, second = job(2, standalone=True).start_all("misuse", "exit", str(tmp_path))
    assert second.wait() == 3
    first.expect(f"final {alone(8)} 8", BOUND)
    assert first.wait() == 0


@pytest.mark.parametrize(
    ("case", "facts"),
    [
        ("tree", r"TypeError.*step 3 returned another tree.*\['m'\].*instead of state\['n'\]"),
        ("shape", r"TypeError.*state\['w'\] of shape \(5,\) instead of .*\(2,\).*next state"),
        ("text", r"TypeError.*step 3 .* \['n'\] is a str \('three'\), expected an array"),
        ("nothing", r"TypeError.*no more arrays instead of state\['n'\]"),
        ("key", r"TypeError.*\['n'\] is an array of dtype key<fry>, expected numbers.*key_data"),
        ("key at first", r"TypeError.*initial_state\['key'\] .*key<fry>, expected numbers"),
        ("text at first", r"TypeError.*initial_state\['key'\] is a str"),
        ("diverge", r"StateDivergedError.*after step 4 differ.*expected the same on all"),
        ("other steps", r"ValueError.*given steps=\d.*\{0: 8, 1: 9\}; expected the same on all"),
        ("past", r"ValueError.*checkpoint is of step 8, given steps=4; expected"),
    ],
)
def test_mistakes_that_all_make_are_named_on_all(job, tmp_path, case, facts):
    for process in job(2, standalone=True).start_all("misuse", case, str(tmp_path)):
        process.expect(f"raised {facts}")
        assert process.wait() == 1
    assert Checkpoints(tmp_path).steps() in ([], [4, 8])
    assert (case == "past") == bool(Checkpoints(tmp_path).steps())


def test_numbers_that_mean_nothing_are_refused(job, tmp_path):
    process = job(1).start("misuse", 0, "numbers", str(tmp_path))
    for facts in (
        "ValueError run_elastic: steps=-1, expected at least 0",
        "TypeError run_elastic: steps='8' is a str, expected an int",
        "ValueError run_elastic: every=0, expected at least 1",
        "TypeError run_elastic: every=2.5 is a float, expected an int",
        "TypeError run_elastic: longest_step='1' is a str, expected a number of seconds",
        "TypeError run_elastic: longest_step=True is a bool, expected a number",
        "ValueError run_elastic: longest_step=0, expected seconds above 0",
    ):
        process.expect(f"refused {facts}")
    process.expect("done")


@pytest.mark.faults
def test_a_process_that_hangs_in_a_step_ends_and_the_others_go_on(job, tmp_path):
    first, second = job(2, standalone=True).start_all("misuse", "hang", str(tmp_path))
    second.expect(r"process 1: .* step 3 is not done after 7.5 s, expected longest_step=1.5 s")
    second.expect(r"misuse.py.* in step")
    assert second.wait() == 76
    first.expect(f"final {alone(8)} 8", BOUND)
    assert first.wait() == 0
    check_states(first)


def test_a_limit_ends_what_hangs_and_lets_the_rest_be(job):
    program = (
        "import threading\n"
        "from tans_fault import epochs, limits\n"
        "epochs._GRACE_SECONDS = -100\n"
        "with limits.limited(60, 'a'), limits.limited(None, 'b'): print('passed', flush=True)\n"
        "with limits.limited(0.1, 'step 7'): threading.Event().wait()\n"
    )
    process = job(1).run(["-c", program], "limits", {"XLA_FLAGS": ""})
    process.expect("passed")
    process.expect(r"step 7 is not done after 0\.1 s, expected .*Mend .*longest_step")
    process.expect(r"line 5 in <module>")
    assert process.wait() == 76


@pytest.mark.faults
def test_an_observers_mistake_costs_its_process(job, tmp_path):
    first, second = job(2, standalone=True).start_all("misuse", "bad observer", str(tmp_path))
    second.expect("raised KeyError")
    assert second.wait() == 1
    first.expect(f"final {alone(8)} 8", BOUND)
    check_states(first)


@pytest.mark.faults
def test_a_large_state_reaches_a_newcomer(job, tmp_path):
    made, env = job(2, standalone=True), {"TANS_TEST_SIZE": "300000"}
    first, second = (made.start("misuse", i, "long", str(tmp_path), **env) for i in range(2))
    first.expect(r"step 5 alive \[0, 1\]")
    second.kill()
    first.expect(r"step \d+ alive \[0\]", BOUND)
    back = made.start("misuse", 1, "long", str(tmp_path / "elsewhere"), **env)
    at = int(back.expect(r"step (\d+) alive \[0, 1\]")[1])
    assert at > 5
    first.expect(rf"step {at + 3} alive \[0, 1\]")
    check_states(first, back)


@pytest.mark.faults
def test_processes_of_two_devices_each(job, tmp_path):
    made, env = job(2, standalone=True), {"JAX_NUM_CPU_DEVICES": "2"}
    first, second = (made.start("misuse", i, "long", str(tmp_path), **env) for i in range(2))
    first.expect(r"step 5 alive \[0, 1\]")
    second.kill()
    first.expect(r"step \d+ alive \[0\]", BOUND)
    back = made.start("misuse", 1, "long", str(tmp_path), **env)
    back.expect(r"step \d+ alive \[0, 1\]")
    check_states(first, back)


@pytest.mark.faults
def test_a_stopped_process_is_left_out_and_ends_itself(job, tmp_path):
    made = job(3, standalone=True)
    processes = made.start_all("misuse", "long", str(tmp_path))
    for process in processes:
        process.expect(r"step 5 alive \[0, 1, 2\]")
    processes[0].send(signal.SIGSTOP)  # the one that saves
    for process in processes[1:]:
        process.expect(r"step \d+ alive \[1, 2\]", 2 * BOUND)
    processes[0].send(signal.SIGCONT)
    assert processes[0].wait(HEARTBEAT + GRACE + BUSY) != 0
    back = made.start("misuse", 0, "long", str(tmp_path))
    back.expect(r"step \d+ alive \[0, 1, 2\]")
    check_states(*processes, back)


@pytest.mark.faults
def test_all_but_one_lost_at_once_and_replaced(job, tmp_path):
    made = job(4, standalone=True)
    processes = made.start_all("misuse", "long", str(tmp_path))
    for process in processes:
        process.expect(r"step 5 alive \[0, 1, 2, 3\]")
    for process in processes[:3]:
        process.kill()
    processes[3].expect(r"step \d+ alive \[3\]", BOUND + HEARTBEAT)
    back = [made.start("misuse", i, "long", str(tmp_path)) for i in range(3)]
    for process in back:
        process.expect(r"step \d+ alive \[0, 1, 2, 3\]")
    check_states(processes[3], *back)


@pytest.mark.faults
def test_everything_lost_and_started_again_goes_on_from_the_checkpoint(job, tmp_path):
    processes = job(2, standalone=True).start_all("misuse", "long", str(tmp_path))
    for process in processes:
        process.expect(r"step 13 ")
    for process in processes:
        process.kill()
    stored = Checkpoints(tmp_path).steps()[-1]
    assert stored >= 12
    again = job(2, standalone=True).start_all("misuse", "long", str(tmp_path))
    for process in again:
        assert int(process.expect(r"step (\d+) ")[1]) == stored + 1
    check_states(*processes, *again)


@pytest.mark.faults
@pytest.mark.parametrize("case", ["long", "no checkpoints"])
def test_a_newcomer_at_the_very_end(job, tmp_path, case):
    """It takes part, or finds the others gone and ends by itself; the result is the same."""
    made, env = job(2, standalone=True), {"TANS_TEST_PAUSE": "0.05"}
    env_short = {**env, "TANS_TEST_START_SECONDS": "60"}
    first, second = (
        made.start("misuse", i, "no checkpoints", str(tmp_path), **env_short) for i in range(2)
    )
    first.expect(r"step 8 alive \[0, 1\]")
    second.kill()
    first.expect(r"step 38 alive \[0\]")
    back = made.start("misuse", 1, "no checkpoints", str(tmp_path), **env_short)
    for process in (first, back):
        process.expect(f"final {alone(40)} 40", 2 * BOUND)
        assert process.wait() == 0
    check_states(first, back)


@pytest.mark.faults
def test_a_loss_in_the_second_loop_of_a_program(job, tmp_path):
    made, env = job(2, standalone=True), {"TANS_TEST_PAUSE": "0.2"}
    first, second = (made.start("misuse", i, "two loops", str(tmp_path), **env) for i in range(2))
    for process in (first, second):
        process.expect(f"final {alone(20)} 20")
    second.expect("step 6 ")  # of the second loop, between two checkpoints
    second.kill()
    env["TANS_TEST_BETWEEN"] = "2"  # the others have met before it is in their loop
    back = made.start("misuse", 1, "two loops", str(tmp_path), **env)
    back.expect(f"final {alone(20)} 20")  # of the first loop, from its checkpoint
    start = time.monotonic()
    back.expect(r"step \d+ alive \[0, 1\]")
    assert time.monotonic() - start < GRACE + BUSY
    back.expect(f"final {alone(20)} 20")
    first.expect(f"final {alone(20)} 20")
    assert [first.wait(), back.wait()] == [0, 0]
    check_states(first, second, back)
    for part in ("a", "b"):
        step, state = Checkpoints(tmp_path / part).restore({"w": None, "n": None})
        assert (step, state["n"], np.unique(state["w"])) == (20, 20, alone(20))


@pytest.mark.faults
def test_a_newcomer_that_needs_long_for_its_own_start_does_not_end_the_others(job, tmp_path):
    made = job(2, standalone=True)
    first, second = made.start_all("misuse", "slow joiner", str(tmp_path))
    first.expect(r"step 5 alive \[0, 1\]")
    second.kill()
    first.expect(r"step \d+ alive \[0\]", BOUND)
    (tmp_path / "slow").touch()
    back = made.start("misuse", 1, "slow joiner", str(tmp_path))
    back.expect(r"step \d+ alive \[0, 1\]")
    check_states(first, back)
