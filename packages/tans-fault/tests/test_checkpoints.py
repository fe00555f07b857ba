"""Checkpoints are there wholly or not at all."""

import errno
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from conftest import PROGRAMS, Process

import tans
from tans_fault import Checkpoints, run_elastic

LEAVES = [
    np.float32(2.5),
    np.zeros((0, 3), np.float64),
    np.arange(30, dtype=np.int8).reshape(2, 3, 5),
    np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16),
    np.array([True, False]),
    np.array([1 + 2j], np.complex64),
    np.ones((2, 3), ml_dtypes.float8_e4m3fn).T,
    np.array(1.5, ml_dtypes.float8_e5m2),
    np.ones((0, 2), ml_dtypes.int4),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda x: f"{np.asarray(x).dtype}{np.shape(x)}")
def test_a_state_comes_back_bit_for_bit(tmp_path, leaf):
    saved = Checkpoints(tmp_path)
    saved.save(7, {"a": leaf, "b": [leaf]})
    step, state = saved.restore({"a": None, "b": [None]})
    assert step == 7
    assert same(state["a"], np.asarray(leaf))
    assert same(state["b"][0], np.asarray(leaf))


def test_arrays_on_devices_are_saved_too(tmp_path):
    saved = Checkpoints(tmp_path)
    saved.save(1, tans.numpy.arange(3))
    assert saved.restore(None)[1].tolist() == [0, 1, 2]


def test_nothing_stored_is_none(tmp_path):
    assert Checkpoints(tmp_path / "new").restore({}) is None


def test_only_the_newest_are_kept(tmp_path):
    saved = Checkpoints(tmp_path, keep=2)
    for step in (5, 10, 15):
        saved.save(step, np.zeros(1))
    assert saved.steps() == [10, 15]


def test_a_failure_on_the_way_leaves_the_older_one(tmp_path, monkeypatch):
    saved = Checkpoints(tmp_path)
    saved.save(1, np.ones(2))

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match=r"step 2 could not .*No space.*expected a folder.*make room"):
        saved.save(2, np.zeros(2))
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000000001.npz"]
    assert saved.restore(None)[0] == 1


def test_a_disk_that_is_full_leaves_the_older_one(tmp_path):
    program = (
        "import resource, sys, numpy as np\n"
        "from tans_fault import Checkpoints\n"
        "saved = Checkpoints(sys.argv[1])\n"
        "saved.save(1, np.ones(2))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    saved.save(2, np.ones(100_000))\n"
        "except OSError as error:\n"
        "    print(error)\n"
        "print(saved.restore(None), saved.steps())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "step 2 could not be written" in said
    assert said.endswith("(1, array([1., 1.])) [1]\n")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_of_another_user_is_an_error(tmp_path):
    saved = Checkpoints(tmp_path / "theirs")
    saved.save(1, np.ones(2))
    saved.folder.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=r"step 2 .*this user may write"):
            saved.save(2, np.ones(2))
    finally:
        os.seteuid(0)
    assert saved.steps() == [1]


def test_killed_during_a_save_what_was_stored_stays(tmp_path):
    choose = random.Random(1)
    env = {**os.environ, "PYTHONPATH": str(PROGRAMS)}
    saved = Checkpoints(tmp_path)
    for _ in range(6):
        command = [sys.executable, str(PROGRAMS / "saving.py"), "plain", str(tmp_path)]
        process = Process(command, env, "saving")
        process.expect("saved")
        time.sleep(choose.random() / 4)
        process.send(signal.SIGKILL)
        process.wait()
        process.close()
        told = max(int(line.split()[1]) for line in process.lines if line.startswith("saved"))
        step, state = saved.restore({"a": None, "b": [None, None]})
        assert step >= told
        assert {float(x) for leaf in tans.tree.leaves(state) for x in np.ravel(leaf)} == {step}


def test_two_savers_of_one_step_leave_one_whole_file(tmp_path):
    stores = [Checkpoints(tmp_path) for _ in range(4)]
    states = [np.full(200_000, i) for i in range(4)]
    threads = [
        threading.Thread(target=c.save, args=(5, s)) for c, s in zip(stores, states, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    step, state = stores[0].restore(None)
    assert step == 5
    assert len(set(state.tolist())) == 1
    assert len(list(tmp_path.iterdir())) == 1


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "empty": lambda path: path.write_bytes(b""),
    "flipped": _flip,
    "garbage": lambda path: path.write_bytes(random.Random(0).randbytes(999)),
    "another archive": lambda path: np.savez(path, a=1),
    "one array": lambda path: np.save(path.open("wb"), np.ones(1)),
    "a pickle": lambda path: path.write_bytes(pickle.dumps([1])),
    "no about": lambda path: np.savez(path, about=np.array("[]")),
    "no leaves": lambda path: np.savez(path, about=np.array('{"format": 2}')),
}


@pytest.mark.filterwarnings("ignore:unclosed file")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_passed_over(tmp_path, damage):
    saved = Checkpoints(tmp_path)
    for step in (1, 2):
        saved.save(step, {"w": np.arange(100) + step})
    damage(tmp_path / "step-000000000002.npz")
    with pytest.warns(
        UserWarning, match="step 2 .*damaged .*expected a whole .*before it is taken"
    ):
        step, state = saved.restore({"w": None})
    assert (step, state["w"][0]) == (1, 1)


def test_all_damaged_is_an_error(tmp_path):
    saved = Checkpoints(tmp_path)
    saved.save(1, np.ones(1))
    _flip(tmp_path / "step-000000000001.npz")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(ValueError, match="empty the f"):
        saved.restore(None)


def test_a_newer_format_is_an_error(tmp_path):
    np.savez(tmp_path / "step-000000000001.npz", about=np.array('{"format": 99}'))
    with pytest.raises(ValueError, match=r"format 99, and this program knows up to 2"):
        Checkpoints(tmp_path).restore(None)


def test_a_file_that_was_not_finished_is_ignored_and_in_time_removed(tmp_path):
    for name in ("partial-x", "partial-y"):
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / "partial-x", (0, 0))
    saved = Checkpoints(tmp_path)
    assert saved.restore(None) is None
    saved.save(1, np.ones(1))
    assert {p.name for p in tmp_path.iterdir()} == {"partial-y", "step-000000000001.npz"}


@pytest.mark.parametrize(
    ("like", "facts"),
    [
        ({"a": None}, r"2 arrays, expected 1; it has state\['b'\], which the state lacks"),
        ({"x": None, "b": None}, r"lacks; it lacks state\['x'\] of the state"),
        ([None, None], r"it lacks state\[0\], state\[1\]"),
        (
            {"a": np.zeros((3, 2)), "b": None},
            r"\['a'\] has shape \(2, 3\) there, expected \(3, 2\)",
        ),
    ],
)
def test_another_structure_is_an_error(tmp_path, like, facts):
    saved = Checkpoints(tmp_path)
    saved.save(3, {"a": np.zeros((2, 3)), "b": np.zeros(1)})
    with pytest.raises(ValueError, match=rf"step 3 in .* does not fit .*{facts}.*another folder"):
        saved.restore(like)


def test_none_may_stand_for_an_array_and_for_itself(tmp_path):
    saved = Checkpoints(tmp_path)
    saved.save(1, {"a": np.ones(1), "b": None, "c": (None, np.zeros(2))})
    like = {"a": None, "b": None, "c": (None, None)}
    state = saved.restore(like)[1]
    assert (state["b"], state["c"][0], state["c"][1].shape) == (None, None, (2,))


@pytest.mark.parametrize(
    ("leaf", "facts"),
    [
        ("text", r"is a str \('text'\)"),
        (object(), "is a object"),
        (2**70, "is a int"),
        (np.array(["a"]), "has dtype <U1"),
        (np.zeros(1, [("x", "f4")]), "has dtype"),
        (tans.random.key(0), r"dtype key<fry>, expected numbers.*key_data"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_array_is_refused_by_its_place(tmp_path, leaf, facts):
    saved = Checkpoints(tmp_path)
    with pytest.raises(TypeError, match=rf"state\['a'\]\[1\] .*{facts}"):
        saved.save(1, {"a": [np.ones(1), leaf]})
    assert list(tmp_path.iterdir()) == []


def test_another_byte_order_is_turned(tmp_path):
    saved = Checkpoints(tmp_path)
    saved.save(1, np.arange(3, dtype=">f4"))
    state = saved.restore(None)[1]
    assert (state.dtype, state.tolist()) == (np.dtype(np.float32), [0, 1, 2])


@pytest.mark.parametrize(
    ("step", "error"), [(-1, ValueError), (10**12, ValueError), ("3", TypeError), (2.0, TypeError)]
)
def test_the_step_is_checked(tmp_path, step, error):
    with pytest.raises(error, match=r"step=.*expected"):
        Checkpoints(tmp_path).save(step, np.ones(1))


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(NotADirectoryError, match="is a file, expected a folder"):
        Checkpoints(path).restore(None)
    with pytest.raises(FileExistsError, match="step 1 could not be written"):
        Checkpoints(path).save(1, np.ones(1))


def test_keep_is_checked(tmp_path):
    for keep in (0, 1.5, "2", True):
        with pytest.raises(ValueError, match=f"keep={keep!r}, expected"):
            Checkpoints(tmp_path, keep=keep)


def test_run_elastic_outside_of_a_job():
    with pytest.raises(RuntimeError, match="not part of a multi-process job"):
        run_elastic(lambda step, x: x, np.zeros(1), steps=1)
