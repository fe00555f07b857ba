"""Checkpoints are there wholly or not at all."""

import ml_dtypes
import numpy as np
import pytest

import tans
from tans_fault import Checkpoints, checkpoints, run_elastic

LEAVES = [
    np.float32(2.5),
    np.zeros((0, 3), np.float64),
    np.arange(30, dtype=np.int8).reshape(2, 3, 5),
    np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16),
    np.array([True, False]),
    np.array([1 + 2j], np.complex64),
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
        raise OSError("the disk is full")

    monkeypatch.setattr(checkpoints.os, "replace", fail)
    with pytest.raises(OSError, match="disk is full"):
        saved.save(2, np.zeros(2))
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000000001.npz"]
    assert saved.restore(None)[0] == 1


def test_a_file_that_was_not_finished_is_ignored(tmp_path):
    (tmp_path / "partial-x").write_bytes(b"half")
    assert Checkpoints(tmp_path).restore(None) is None


def test_another_structure_is_an_error(tmp_path):
    saved = Checkpoints(tmp_path)
    saved.save(3, {"a": np.zeros(1)})
    with pytest.raises(
        ValueError, match=r"step-000000000003.*1 arrays, expected 2.*another folder"
    ):
        saved.restore({"a": None, "b": None})


def test_keep_is_checked(tmp_path):
    with pytest.raises(ValueError, match="keep=0"):
        Checkpoints(tmp_path, keep=0)


def test_run_elastic_outside_of_a_job():
    with pytest.raises(RuntimeError, match="not part of a multi-process job"):
        run_elastic(lambda step, x: x, np.zeros(1), steps=1)
