"""Acceptance list: what can go wrong when a job starts; the store; errors of arguments."""

import concurrent.futures
import json
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest
from conftest import BUSY

from tans_fault import distributed, live_devices, roll_call
from tans_fault.coordination import state
from tans_fault.coordinator import free_port

INIT = 3


def test_A12_a_missing_process_is_named(job):
    made = job(3, standalone=True)
    processes = [made.start("start", i, str(INIT)) for i in (0, 2)]
    start = time.monotonic()
    for process in processes:
        # On a busy machine one may give up before the other is there.
        assert "1" in process.expect("TimeoutError.*did not come: (.*?)[.] ")[1].split(", ")
        assert process.wait() == 1
    assert time.monotonic() - start < INIT + 6 + BUSY


def test_A12_the_others_learn_that_process_0_gave_up(job):
    made = job(3)
    second = made.start("start", 2, "60")
    first = made.start("start", 0, str(INIT))
    first.expect("TimeoutError.*did not come: 1")
    second.expect("TimeoutError.*gave up waiting.*did not come: (0, )?1")


def test_a_thread_does_not_join_while_another_one_does(monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def join(settings):
        begun.set()
        assert ended.wait(60)
        raise TimeoutError("the first thread's own")

    monkeypatch.setattr(distributed.joining, "join", join)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(distributed.initialize, "127.0.0.1:1", 1, 0, recoverable=False)
        assert begun.wait(60)
        with pytest.raises(RuntimeError, match=r"another thread joins.*expected one call"):
            distributed.initialize("127.0.0.1:1", 1, 0)
        ended.set()
        with pytest.raises(TimeoutError, match="own"):
            first.result(60)
    assert not distributed.is_initialized()


def test_A13_a_wrong_address_is_an_error_and_not_an_abort(job):
    made = job(2)
    process = made.start("start", 1, str(INIT))
    process.expect("TimeoutError.*nothing listens at coordinator_address 127.0.0.1")
    assert process.wait() == 1


def test_another_server_at_the_address_is_an_error_and_not_an_abort(job):
    made = job(2)
    with socket.create_server(("127.0.0.1", made.port)):
        process = made.start("start", 1, str(INIT))
        process.expect(
            rf"RuntimeError.*something listens at .*:{made.port}, but nothing .*{made.port + 1}.*"
            "expected a Tans coordinator.*Correct the address"
        )
        assert process.wait() == 1


def test_an_answer_that_is_none_of_ours_is_shown(job):
    made = job(2)
    with (
        socket.create_server(("127.0.0.1", made.port)),
        socket.create_server(("127.0.0.1", made.port + 1)) as server,
    ):
        process = made.start("start", 1, str(INIT))
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n")
            process.expect("RuntimeError.*b'HTTP/1.1 400 Bad.*expected one of a Tans coordinator")
            assert process.wait() == 1


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"[1]\n",
        b'{"call": "tans roll call 3"}\n',
        b'{"call": "tans roll call 3", "id": "x", "count": 2, "same": {}}\n',
        b"x" * 200_000,
    ],
)
def test_the_roll_call_survives_what_is_no_call(job, said):
    made = job(2, standalone=True)
    with socket.create_connection(("127.0.0.1", made.port + 1)) as stranger:
        stranger.sendall(said)
        processes = made.start_all("start", "30")
        for process in processes:
            process.expect("started")
            assert process.wait() == 0
    assert not any("Traceback" in line for line in made.coordinator.lines)


def test_a_call_with_an_id_out_of_range_is_refused(job):
    made = job(2, standalone=True)
    call = {"call": roll_call.CALL, "id": 2, "count": 2, "same": {}}
    with socket.create_connection(("127.0.0.1", made.port + 1)) as stranger:
        stranger.sendall(json.dumps(call).encode() + b"\n")
        assert json.loads(stranger.makefile().readline()) == {"refused": "count", "text": "2"}


def test_connections_notice_a_machine_that_vanished():
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = roll_call.connect("127.0.0.1", server.getsockname()[1], 1.0)
        with line:
            roll_call.keep_alive(line)
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_a_job_on_an_address_of_version_6(job):
    made = job(2)
    made.address = f"[::1]:{made.port}"
    try:
        socket.create_server(("::1", made.port), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    for process in made.start_all("psum"):
        process.expect("sum 3.0")
        assert process.wait() == 0


def test_after_a_shutdown_the_process_is_alone_again(job):
    process = job(1).start("again", 0)
    process.expect(r"alone \[1\.0, 1\.0\]")
    assert process.wait() == 0


def test_A19_an_id_that_is_taken_is_refused(job):
    made = job(2)
    first = [made.start("waiting", i) for i in range(2)]
    for process in first:
        process.expect("ready")
    second = made.start("start", 1, str(INIT))
    second.expect("ValueError.*process_id=1.*another process")
    assert second.wait() == 1
    for process in first:
        process.tell("gather")
    for process in first:
        process.expect(r"gather \[0\.0, 2\.0\]")
        process.tell("shutdown")
    assert [process.wait() for process in first] == [0, 0]


@pytest.mark.parametrize(
    ("env", "error"),
    [
        ({"TANS_TEST_COUNT": "3"}, "ValueError.*num_processes=3.*started for 2"),
        ({"TANS_PROGRAM_DIGEST": "other"}, "RuntimeError.*program other.*installation and program"),
        (
            {"TANS_ENABLE_RECOVERABILITY": "0"},
            "RuntimeError.*recoverable False, but the first process of the job has True.*arguments",
        ),
    ],
    ids=["count", "program", "recoverable"],
)
def test_another_count_or_program_is_refused(job, env, error):
    made = job(2)
    made.start("start", 0, "20")
    # The first to call sets the program; it calls at once when its coordinator listens.
    roll_call.connect("127.0.0.1", made.port + 1, 60.0).close()
    second = made.start("start", 1, "20", **env)
    second.expect(error)
    assert second.wait() == 1


@pytest.fixture
def certificate(tmp_path):
    """Return the arguments of `initialize` for a certificate made for this test."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")

    def openssl(text):
        subprocess.run(["openssl", *text.split()], cwd=tmp_path, check=True, capture_output=True)

    key, names = "-newkey rsa:2048 -nodes", "subjectAltName=IP:127.0.0.1,URI:spiffe://x/job"
    openssl(f"req -x509 {key} -days 2 -keyout ca.key -out ca.crt -subj /CN=ca")
    openssl(f"req {key} -keyout a.key -out a.csr -subj /CN=a -addext {names}")
    signed = "-CA ca.crt -CAkey ca.key -CAcreateserial -copy_extensions copy"
    openssl(f"x509 -req -in a.csr {signed} -days 2 -out a.crt")
    return {"mtls_cert_file": "a.crt", "mtls_key_file": "a.key", "mtls_ca_file": "ca.crt"}


@pytest.mark.faults
@pytest.mark.parametrize(
    ("second", "facts"),
    [
        ({}, "sum 3.0"),
        (None, "RuntimeError.*has encrypted connections False, but the first .* True; expected"),
        ({"mtls_peer_uri_prefix": "spiffe://y/"}, "TimeoutError.*all came and not all could conn"),
    ],
    ids=["same", "open", "foreign"],
)
def test_encrypted_connections(job, certificate, tmp_path, second, facts):
    made = job(2)
    files = {name: str(tmp_path / file) for name, file in certificate.items()}
    prefix = {"mtls_peer_uri_prefix": "spiffe://x/"}
    first = made.start("psum", 0, TANS_TEST_OPTIONS=json.dumps(files | prefix))
    first.expect("starting")
    time.sleep(2.0)  # until it is the first in the roll call
    options = {} if second is None else files | prefix | second
    process = made.start(
        "psum", 1, TANS_TEST_OPTIONS=json.dumps(options), TANS_TEST_START_SECONDS="8"
    )
    process.expect(facts)


@pytest.mark.faults
def test_a_coordinator_of_its_own_takes_its_certificate_from_variables(job, certificate, tmp_path):
    files = {f"JAX_{n}".upper(): str(tmp_path / file) for n, file in certificate.items()}
    made = job(2)
    command = ["-m", "tans_fault.coordinator", "--num-processes", "2", "--address", made.address]
    made.run(command, "coordinator", files).expect("coordinator listens")
    made.standalone = True
    for process in made.start_all("psum", **files):
        process.expect("sum 3.0")


def test_a_taken_port_is_named(job):
    made = job(1)
    made.start("waiting", 0).expect("ready")
    second = made.start("start", 0, str(INIT))
    second.expect(rf"RuntimeError.*roll call.*{made.port + 1}.*another port")
    assert second.wait() == 1


def test_A24_A25_A26_A27_the_store_and_a_job_of_one(job):
    process = job(1).start("store", 0)
    for pattern in (
        "early RuntimeError .*distributed.initialize",
        "alone RuntimeError .*not part of a multi-process job",
        "collectives RuntimeError .*'megascale'.*expected 'gloo'",
        "again RuntimeError .*called a second time.*shutdown",
        "unrecoverable RuntimeError .*recoverable=True",
        "duplicate JaxRuntimeError ALREADY_EXISTS",
        "overwritten gave None",
        "missing JaxRuntimeError NOT_FOUND",
        "late JaxRuntimeError DEADLINE_EXCEEDED",
        "number gave 10",
        r"bytes gave b'\\x00x'",
        r"folder gave \[\('a/b', '2'\), \('a/c'",
        r"deleted gave \[\]",
        "stranger JaxRuntimeError INVALID_ARGUMENT",
        "outsider JaxRuntimeError INVALID_ARGUMENT",
        "none ValueError .*no devices.*expected",
        r"live gave \[CpuDevice\(id=0\)\]",
        "body KeyError 'mine'",
        r"remembered \{CpuDevice\(id=0\): \d+\}",
        "done",
    ):
        process.expect(pattern)
    assert process.wait() == 0


def test_A26_live_devices_outside_of_a_job():
    with pytest.raises(RuntimeError, match="not part of a multi-process job"):  # noqa: SIM117
        with live_devices([]):
            pass


PLACE = {"coordinator_address": "127.0.0.1:1", "num_processes": 2, "process_id": 0}
BAD_ADDRESSES = ["h:0", "h:65535", "h:x", "h:", ":1", "h::1:80", " h:80", "h", 5, "::1"]
BAD_VALUES = [
    ("initialization_timeout", 0, ValueError),
    ("initialization_timeout", "3", TypeError),
    ("heartbeat_timeout_seconds", -1, ValueError),
    ("heartbeat_timeout_seconds", 1.5, TypeError),
    ("shutdown_timeout_seconds", -1, ValueError),
    ("collective_timeout_seconds", 0, ValueError),
    ("num_processes", 0, ValueError),
    ("process_id", True, TypeError),
    ("partition_index", -1, ValueError),
    ("slice_index", "x", TypeError),
    ("recoverable", "yes", TypeError),
    ("start_service", 1, TypeError),
    ("local_device_ids", [], ValueError),
    ("local_device_ids", [0, 0], ValueError),
    ("local_device_ids", "0", TypeError),
    ("local_device_ids", [-1], ValueError),
    ("coordinator_bind_address", "nowhere", ValueError),
    ("mtls_peer_uri_prefix", "spiffe://x", ValueError),
    ("verify_secure_credentials", "yes", TypeError),
]
CERTIFICATES = {f"mtls_{name}_file": f"/nowhere/{name}" for name in ("cert", "key", "ca")}


@pytest.mark.parametrize(
    ("given", "error", "facts"),
    [
        ({}, ValueError, "coordinator_address.*expected.*Pass"),
        ({"coordinator_address": "h:1"}, ValueError, "num_processes was not given"),
        ({"coordinator_address": "h:1", "num_processes": 2}, ValueError, "process_id was not"),
        ({"coordinator_address": "h:1", "num_processes": 2, "process_id": 5}, ValueError, "id=5"),
        ({"coordinator_address": "h:1", "num_processes": 2, "process_id": -1}, ValueError, "id=-1"),
        ({"coordinator_address": "h:1", "num_processes": "2", "process_id": 0}, TypeError, "str"),
        ({"coordinator_address": "h:1", "num_processes": 2, "process_id": 0.0}, TypeError, "float"),
        (
            {"coordinator_address": "h", "num_processes": 2, "process_id": 0},
            ValueError,
            "host:port",
        ),
        ({"cluster_detection_method": "nope"}, ValueError, "'nope'.*'slurm'"),
        (PLACE | CERTIFICATES, ValueError, "mtls_cert_file='/nowhere/cert', expected .* a file"),
        *((PLACE | {"coordinator_address": a}, ValueError, "host:port") for a in BAD_ADDRESSES),
        *(
            (PLACE | {name: value}, error, rf"{name}=.*expected")
            for name, value, error in BAD_VALUES
        ),
        (
            {
                "coordinator_address": "h:1",
                "num_processes": 2,
                "process_id": 0,
                "mtls_key_file": "k",
            },
            ValueError,
            "mtls_key_file but not mtls_ca_file and mtls_cert_file",
        ),
        (
            {
                "coordinator_address": "h:1",
                "num_processes": 2,
                "process_id": 0,
                "slice_index": 1,
                "partition_index": 1,
            },
            ValueError,
            "slice_index=1",
        ),
    ],
    ids=str,
)
def test_bad_arguments_leave_nothing_behind(given, error, facts):
    from tans_xla import backend

    if backend.is_started():
        backend.drop_backend()
    with pytest.raises(error, match=re.compile(facts, re.S)):
        distributed.initialize(**given)
    assert not distributed.is_initialized()
    assert state.answer is None
    assert state.roll is None


@pytest.mark.parametrize(
    "name", ["HEARTBEAT_TIMEOUT_SECONDS", "COLLECTIVE_TIMEOUT_SECONDS", "PARTITION_INDEX"]
)
def test_bad_variables_are_named(monkeypatch, name):
    from tans_xla import backend

    if backend.is_started():
        backend.drop_backend()
    monkeypatch.setenv(f"JAX_{name}", "7x")
    with pytest.raises(ValueError, match=rf"JAX_{name} is '7x', expected a whole number"):
        distributed.initialize(**PLACE, recoverable=True)
    assert not state.recoverable


def test_initialize_after_the_first_device_is_refused():
    from tans_xla import backend

    backend.devices()
    with pytest.raises(RuntimeError, match="first use of a device"):
        distributed.initialize(f"127.0.0.1:{free_port('127.0.0.1')}", 1, 0)


def test_shutdown_of_no_job_does_nothing():
    distributed.shutdown()
    assert not distributed.is_initialized()


def test_a_coordinator_says_where_it_listens_and_ends_with_its_input(job):
    made = job(1)
    command = ["-m", "tans_fault.coordinator", "--num-processes", "1", "--end-with-input"]
    coordinator = made.run(command, "coordinator")
    assert int(coordinator.expect(r"listens on 127\.0\.0\.1:(\d+)")[1]) > 0
    coordinator.popen.stdin.close()
    assert coordinator.wait() == 0


def test_a_coordinator_whose_port_is_taken_says_so(job):
    made = job(1, standalone=True)
    command = ["-m", "tans_fault.coordinator", "--num-processes", "1", "--address", made.address]
    second = made.run(command, "coordinator")
    second.expect(r"could not listen on port \d+.*Choose another port")
    assert second.wait() == 1
