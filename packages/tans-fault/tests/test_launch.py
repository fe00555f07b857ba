"""The launcher with real workers."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

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
def test_a_lost_standalone_coordinator_means_a_restart_from_the_checkpoint(launched):
    process = launched(options=["-n", "2"], fault="1:9:wait")
    process.expect("waits at 9")
    os.kill(child_of(process.popen.pid, b"tans_fault.coordinator"), signal.SIGKILL)
    process.expect(r"\[launch\] coordinator lost \(status -9\); starting all workers again")
    for _ in range(2):
        assert int(process.expect(r"begins with step (\d+)")[1]) == 8
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


HEEDS_SIGTERM = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if os.environ["TANS_LAUNCH_PROCESS_ID"] == "0":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2)"], start_new_session=True)
print("ready")
while True:
    signal.pause()
"""


def test_the_news_of_a_good_end_may_come_late_after_sigterm(workers):
    process = workers(HEEDS_SIGTERM, options=["-n", "2"])
    seen = {process.expect(r"\[(\d)\] ready")[1] for _ in range(2)}
    assert seen == {"0", "1"}
    process.send(signal.SIGTERM)
    assert process.wait(60) == 0


def child_of(launcher, what):
    """Return the number of the launcher's child whose command line has this."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    (found,) = [n for n in children if what in Path(f"/proc/{n}/cmdline").read_bytes()]
    return int(found)


@pytest.fixture
def workers(tmp_path):
    """Function that launches a program given as text; what runs at the end is ended."""
    made = []

    def start(text, *arguments, options=(), script="program.py"):
        path = tmp_path / script
        path.write_text(text)
        command = [sys.executable, "-m", "tans_fault.launch", "--timeout", "100", *options]
        made.append(Process([*command, str(path), *arguments], {**os.environ}, "launcher"))
        return made[-1]

    yield start
    for process in made:
        process.close()


def lines_of(process):
    """What the workers said, without the coordinator."""
    return [line for line in process.lines if re.match(r"\[\d+\]", line)]


def test_lines_keep_their_bytes_and_get_their_number(workers):
    text = (
        "import os\n"
        "os.write(1, 'grüße \N{SNOWMAN} '.encode()); os.write(1, b'half'); os.write(1, b'way\\n')\n"
        "os.write(1, b'a\\rb\\n\\n'); os.write(2, b'no end')\n"
    )
    process = workers(text, options=["-n", "1"])
    assert process.wait() == 0
    # The test reads text, in which a carriage return ends a line too.
    assert lines_of(process) == ["[0] grüße \N{SNOWMAN} halfway", "[0] a", "[0] ", "[0] no end"]


def test_long_lines_of_several_workers_do_not_mix(workers):
    text = "import os\nfor i in range(60): print(os.environ['TANS_LAUNCH_PROCESS_ID'] * 30_000)\n"
    process = workers(text, options=["-n", "3"])
    assert process.wait() == 0
    found = lines_of(process)
    assert sorted(found) == sorted(f"[{i}] {str(i) * 30_000}" for i in range(3) for _ in range(60))


def test_arguments_reach_the_program_and_standard_input_is_empty(workers):
    text = "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n"
    given = ["--flag", "-n", "7", "a b", "--", "-x"]
    process = workers(text, *given, options=["-n", "1"], script="with space.py")
    assert process.wait() == 0
    assert lines_of(process) == [f"[0] {given} ''"]


def test_a_worker_that_ends_early_without_an_error_is_not_started_again(workers):
    text = "import os, time\nprint('here', flush=True)\n"
    text += "time.sleep(2.0 * (os.environ['TANS_LAUNCH_PROCESS_ID'] == '0'))\n"
    process = workers(text, options=["-n", "2"])
    assert process.wait() == 0
    assert sorted(lines_of(process)) == ["[0] here", "[1] here"]


def test_workers_that_end_because_the_coordinator_did_cost_one_restart_together(workers, tmp_path):
    text = (
        "import os, pathlib, socket, sys\n"
        "if pathlib.Path(sys.argv[1]).exists(): sys.exit(print('second life'))\n"
        "host, _, port = os.environ['TANS_LAUNCH_ADDRESS'].rpartition(':')\n"
        "line = socket.create_connection((host, int(port)))\n"
        "print('connected', flush=True)\n"
        "while line.recv(100): pass\n"
        "os.kill(os.getpid(), 6)\n"
    )
    mark = tmp_path / "mark"
    process = workers(
        text, str(mark), options=["-n", "4", "--restarts", "1", "--restart-delay", "3"]
    )
    for _ in range(4):
        process.expect("connected")
    mark.touch()
    os.kill(child_of(process.popen.pid, b"tans_fault.coordinator"), signal.SIGKILL)
    assert process.wait() == 0, process.text
    assert sum("second life" in line for line in process.lines) == 4
    assert sum("coordinator lost" in line for line in process.lines) == 1


def test_a_worker_with_a_status_is_started_again_as_often_as_allowed(workers):
    process = workers("raise SystemExit(3)", options=["-n", "1", "--restarts", "2"])
    assert process.wait() == 1
    text = "\n".join(process.lines)
    assert text.count("worker 0 ended with status 3") == 3
    assert "given up after 2 restarts" in text


CHILD = (
    "import os, subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
    "print('pids', os.getpid(), child.pid, flush=True)\n"
)


def runs(pid):
    """Whether a process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids(process):
    """Wait for the numbers of a worker and of its child."""
    return [int(part) for part in process.expect(r"pids (\d+) (\d+)").groups()]


def expect_ended(numbers, seconds=20.0):
    end = time.monotonic() + seconds
    while any(map(runs, numbers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [n for n in numbers if runs(n)]


def test_what_a_worker_has_started_ends_with_it(workers):
    process = workers(CHILD + "os.kill(os.getpid(), 9)\n", options=["-n", "1", "--restarts", "1"])
    first = pids(process)
    second = pids(process)
    assert process.wait() == 1
    expect_ended(first + second)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_and_leaves_nobody_behind(workers, number):
    process = workers(CHILD + "time.sleep(1000)\n", options=["-n", "2"])
    started = pids(process) + pids(process)
    process.send(number)
    assert process.wait() == 1
    expect_ended(started)


def test_a_second_signal_ends_all_at_once(workers):
    text = "import signal, time\n"
    text += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\n"
    process = workers(text + "time.sleep(1000)\n", options=["-n", "1", "--grace", "90"])
    process.expect("ready")
    process.send(signal.SIGTERM)
    assert process.still_runs(1.0)
    process.send(signal.SIGTERM)
    assert process.wait(30) == 1
    assert "told to stop again" in "\n".join(process.lines)


@pytest.mark.parametrize("kind", ["--standalone-coordinator", "--embedded-coordinator"])
def test_a_launcher_that_is_killed_takes_all_along(workers, kind):
    process = workers(CHILD + "time.sleep(1000)\n", options=["-n", "2", kind])
    started = pids(process) + pids(process)
    number = process.popen.pid
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    process.kill()
    expect_ended(started + list(map(int, children)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_launcher_that_is_killed_with_its_guard_takes_its_workers_along(workers):
    process = workers(CHILD + "time.sleep(1000)\n", options=["-n", "1"])
    worker, child = pids(process)
    try:
        os.kill(child_of(process.popen.pid, b"guard.py"), signal.SIGKILL)
        process.kill()
        expect_ended([worker])
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_time_limit_holds_when_nobody_reads(tmp_path):
    program = tmp_path / "flood.py"
    program.write_text("while True: print('x' * 1000)")
    command = [sys.executable, "-m", "tans_fault.launch", "-n", "2", "--timeout", "6", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 124


def test_a_reader_that_went_away_does_not_end_the_job(tmp_path):
    program, mark = tmp_path / "flood.py", tmp_path / "mark"
    program.write_text(f"for _ in range(20_000): print('x' * 99)\nopen({str(mark)!r}, 'w')\n")
    command = [
        sys.executable,
        "-m",
        "tans_fault.launch",
        "-n",
        "1",
        "--timeout",
        "60",
        str(program),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
    assert mark.exists()


def test_a_missing_program_is_named(capsys):
    assert launch.main(["-n", "1", "no-such-file.py"]) == 2
    assert "no-such-file.py" in capsys.readouterr().err


def test_the_number_of_workers_is_checked(capsys):
    for count in ("0", "-1", "two", "1.5"):
        with pytest.raises(SystemExit):
            launch.main(["-n", count, "x.py"])
        said = capsys.readouterr().err
        assert f"given '{count}', expected a whole number of at least 1" in said


@pytest.mark.parametrize(
    "option",
    ["--timeout=nan", "--timeout=-5", "--grace=inf", "--restart-delay=-1", "--restarts=-1"],
)
def test_numbers_that_mean_nothing_are_refused(capsys, option):
    with pytest.raises(SystemExit):
        launch.main(["-n", "1", option, "x.py"])
    assert f"given {option.partition('=')[2]!r}, expected a" in capsys.readouterr().err


def test_a_coordinator_is_of_one_kind(capsys):
    with pytest.raises(SystemExit):
        launch.main(["-n", "1", "--embedded-coordinator", "--standalone-coordinator", "x.py"])
    assert "not allowed with" in capsys.readouterr().err
