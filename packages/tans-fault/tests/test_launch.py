"""The launcher with real workers."""

import os
import re
import signal
import sys

import pytest
from conftest import PROGRAMS, Process

from tans_fault import launch


@pytest.fixture
def launched(tmp_path):
    """Function that launches a program of the tests; what runs at the end is ended."""
    made = []

    def start(*arguments, program="launched.py", fault="-", options=()):
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}
        paths = [str(PROGRAMS), os.environ.get("PYTHONPATH", "")]
        env |= {"PYTHONPATH": os.pathsep.join(paths), "https_proxy": "http://192.0.2.1:1"}
        command = [sys.executable, "-m", "tans_fault.launch", "--heartbeat-timeout", "4"]
        command += ["--collective-timeout", "8", "--timeout", "150", *options]
        command += [str(PROGRAMS / program), str(tmp_path), fault]
        made.append(Process(command, env, "launcher"))
        return made[-1]

    yield start
    for process in made:
        process.close()


def finals(process):
    return re.findall(r"^\[(\d)\] final \[240\.0, 240\.0\]$", "\n".join(process.lines), re.M)


@pytest.mark.faults
def test_two_workers_with_numbered_lines(launched):
    process = launched(options=["-n", "2"])
    assert process.wait(120) == 0
    assert sorted(finals(process)) == ["0", "1"]
    assert all(line.startswith("[") for line in process.lines)


def test_a_killed_worker_is_replaced(launched):
    process = launched(options=["-n", "2"], fault="1:6:kill")
    process.expect(r"\[launch\] worker 1 ended with status -9")
    process.expect(r"\[launch\] starting worker 1 again")
    assert process.wait(120) == 0
    assert sorted(finals(process)) == ["0", "1"]
    assert all(line.startswith("[") for line in process.lines)


@pytest.mark.faults
def test_worker_0_is_as_harmless_as_any_other(launched):
    process = launched(options=["-n", "3"], fault="0:6:kill")
    process.expect(r"\[launch\] starting worker 0 again")
    assert process.wait(120) == 0
    assert sorted(finals(process)) == ["0", "1", "2"]


@pytest.mark.faults
def test_a_lost_embedded_coordinator_means_a_restart_from_the_checkpoint(launched):
    process = launched(options=["-n", "2", "--embedded-coordinator"], fault="0:9:kill")
    process.expect("coordinator lost")
    process.expect("starting all workers again")
    assert process.wait(140) == 0
    assert sorted(finals(process)) == ["0", "1"]


@pytest.mark.faults
def test_a_program_with_a_mistake_is_given_up(launched, tmp_path):
    process = launched(options=["-n", "1", "--restarts", "1"], program="wrong.py")
    assert process.wait(120) == 1
    text = "\n".join(process.lines)
    assert "ValueError: a mistake" in text
    assert "given up after 1 restarts" in text


@pytest.mark.faults
def test_the_time_limit_ends_all(launched):
    process = launched(options=["-n", "2", "--timeout", "5"], program="idle.py")
    assert process.wait(120) == 124
    assert "time limit of 5 s reached" in "\n".join(process.lines)


@pytest.mark.faults
def test_sigterm_is_passed_on_and_all_end_well(launched):
    process = launched(options=["-n", "2"], program="preempted.py")
    process.expect(r"\[0\] step 3")
    process.send(signal.SIGTERM)
    assert process.wait(120) == 0
    stopped = re.findall(r"stopped after (\d+)", "\n".join(process.lines))
    assert len(stopped) == 2
    assert len(set(stopped)) == 1


def test_a_missing_program_is_named(capsys):
    assert launch.main(["-n", "1", "no-such-file.py"]) == 2
    assert "no-such-file.py" in capsys.readouterr().err


def test_the_number_of_workers_is_checked(capsys):
    with pytest.raises(SystemExit):
        launch.main(["-n", "0", "x.py"])
    assert "given '0', expected a whole number of at least 1" in capsys.readouterr().err
