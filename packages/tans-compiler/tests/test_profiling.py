"""Profiles: the files are there, and hold the annotations and the operations that ran."""

import gzip
import json
import socket

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import profiler

# The binding's own types are incomplete.
pytestmark = pytest.mark.filterwarnings(
    "ignore:builtin type .* has no __module__:DeprecationWarning"
)


def work():
    return tans.jit(lambda x: jnp.tanh(x @ x))(np.ones((64, 64), np.float32)).block_until_ready()


def names(data):
    return {e.name for plane in data.planes for line in plane.lines for e in line.events}


def test_files_of_the_standard_viewers_are_written(tmp_path):
    recording = profiler.trace(tmp_path, create_perfetto_trace=True)
    with recording, profiler.TraceAnnotation("my block", number=3):
        work()
    (space,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert "my block" in names(profiler.ProfileData.from_file(str(space)))
    for pattern in ("*.trace.json.gz", "perfetto_trace.json.gz"):
        found = sorted(tmp_path.glob(f"plugins/profile/*/{pattern}"))
        assert found
        for path in found:
            events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
            assert any(e.get("name") == "my block" for e in events)


def test_start_and_stop(tmp_path):
    session = profiler.start_trace(tmp_path)
    assert session.is_running
    with pytest.raises(RuntimeError, match="recorded already"):
        profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="recorded already"):
        session.start()
    with pytest.raises(RuntimeError, match="recorded already"):
        profiler.ProfileSession().start()
    work()
    assert profiler.stop_trace() is not None
    assert not session.is_running
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()


def test_steps_and_functions_are_events():
    annotated = profiler.annotate_function(work, name="named")
    with profiler.trace() as session:
        with profiler.StepTraceAnnotation("train", step_num=1):
            profiler.annotate_function(work)()
        annotated()
    found = names(session.profile_data)
    assert {"train", "named", "work"} <= found
    assert annotated.__name__ == "work"


def test_a_profile_in_memory_is_written_later(tmp_path):
    session = profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="expected one that was stopped"):
        session.export_profile_data(tmp_path)
    with session:
        work()
    profiler.export_profile_data(session, tmp_path)
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
    with pytest.raises(TypeError, match="expected a ProfileSession"):
        profiler.export_profile_data(session.profile_data, tmp_path)


def test_an_error_inside_stops_the_profile(tmp_path):
    with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path):
        _ = 1 / 0
    with profiler.trace(tmp_path):
        work()


def test_options_reach_the_tracer():
    options = profiler.ProfileOptions()
    options.python_tracer_level = 1
    with profiler.trace(profiler_options=options) as session:
        work()
    assert any("work" in name for name in names(session.profile_data))


def test_device_memory(tmp_path):
    held = work()
    profiler.save_device_memory_profile(tmp_path / "memory.pprof")
    data = (tmp_path / "memory.pprof").read_bytes()
    assert gzip.decompress(data)
    assert gzip.decompress(profiler.device_memory_profile("cpu"))
    del held


def test_the_server_is_one():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    profiler.start_server(port)
    try:
        with pytest.raises(ValueError, match="expected at most one"):
            profiler.start_server(port)
        with socket.create_connection(("localhost", port), timeout=10):
            pass
    finally:
        profiler.stop_server()
    with pytest.raises(ValueError, match="without a profiler server"):
        profiler.stop_server()


@pytest.mark.parametrize(
    ("folder", "error", "text"),
    [
        (3, TypeError, "given log_dir=3 of type int"),
        (b"x", TypeError, "expected a str or a Path"),
        ("gs://bucket/x", OSError, "Mount storage"),
        ("nul\0", OSError, "expected a path without null characters"),
        ("\ud800", OSError, "without null characters and lone surrogates"),
        ("bytes\udc80", OSError, "without null characters and lone surrogates"),
        (__file__, OSError, "can't be written"),
        (__file__ + "/below", OSError, "expected a folder of yours"),
    ],
)
def test_folders_are_checked_before_the_program_runs(tmp_path, monkeypatch, folder, error, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        profiler.start_trace(folder)
    assert str(caught.value).startswith("profiler: given log_dir=")
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with profiler.trace():  # nothing is left running
        work()


@pytest.mark.parametrize(
    ("name", "error"), [("nul\0", OSError), ("\ud800", OSError), (3, TypeError)]
)
def test_names_that_are_no_files(name, error):
    with pytest.raises(error, match=r"save_device_memory_profile: given filename=.*expected"):
        profiler.save_device_memory_profile(name)


@pytest.mark.parametrize("options", [3, {}, "x"])
def test_options_that_are_none(options):
    with pytest.raises(TypeError, match=r"given profiler_options=.*expected ProfileOptions"):
        profiler.start_trace("unused", profiler_options=options)
    with pytest.raises(AttributeError, match="tracer_level"):
        profiler.ProfileOptions().tracer_level = 1


def test_annotate_function_of_no_function():
    with pytest.raises(TypeError, match=r"annotate_function: given 3 .*expected a function"):
        profiler.annotate_function(3)


@pytest.mark.parametrize("port", [-1, 0, 1 << 16, "9999", None])
def test_ports_that_are_none(port):
    with pytest.raises(ValueError, match=r"start_server: given port=.*expected an int from 1"):
        profiler.start_server(port)


def test_a_taken_port_is_an_error():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"start_server: given port={port}.*Choose another"):
            profiler.start_server(port)
    with pytest.raises(ValueError, match="stop_server"):
        profiler.stop_server()
