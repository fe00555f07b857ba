"""Checkpoints in Orbax's format, with Orbax and JAX installed beside: ``nox -s orbax``."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from conftest import PROGRAMS, Process

import tans
from tans_fault import OrbaxCheckpoints


class Moments(NamedTuple):
    """A container that Orbax does not know."""

    mu: object
    nu: object


STATE = {
    "params": {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16),
    },
    "opt": [Moments(np.ones(2), np.float64(0.1)), ()],
    "rest": (np.int8(3), None, np.array([1 + 2j], np.complex64), np.array([True, False])),
    "small": [np.ones(2, ml_dtypes.float8_e4m3fn), np.ones((2, 2), ml_dtypes.int4)],
}
READ = """
import logging, os, sys
logging.disable(logging.CRITICAL)
import numpy as np, orbax.checkpoint as ocp
state = ocp.CheckpointManager(sys.argv[1]).restore(int(sys.argv[2]))
print(state["params"]["w"].tolist(), state["params"]["b"].dtype, state["opt"][0]["nu"])
again = ocp.CheckpointManager(sys.argv[1])
print(again.latest_step(), again.all_steps())
"""
WRITE = """
import logging, os, sys
logging.disable(logging.CRITICAL)
from typing import NamedTuple
import jax, jax.numpy as jnp, numpy as np, orbax.checkpoint as ocp
class Moments(NamedTuple):
    mu: object
    nu: object
mesh = jax.make_mesh((2,), ("i",))
split = jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, jax.P("i")))
state = {"w": split, "opt": [Moments(jnp.ones(2, jnp.bfloat16), 0.5)], "t": (jnp.int32(7), None)}
save = getattr(ocp.args, sys.argv[2])
with ocp.CheckpointManager(sys.argv[1]) as manager:
    manager.save(11, args=save(state))
"""


def run_jax(program, *arguments):
    """Run a program in which JAX and Orbax are imported, and Tans is not."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def same(found, expected):
    assert tans.tree.structure(found) == tans.tree.structure(expected)
    for a, b in zip(
        tans.tree.leaves(found), map(np.asarray, tans.tree.leaves(expected)), strict=True
    ):
        assert type(a) is np.ndarray
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_without_orbax_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        ImportError, match=r"orbax-checkpoint was not found, expected .* 'tans-fault\[orbax\]'"
    ):
        OrbaxCheckpoints("x")


needs_orbax = pytest.mark.orbax


@pytest.fixture
def saved(tmp_path):
    """A store in a folder that does not exist yet."""
    store = OrbaxCheckpoints(tmp_path / "saved", keep=2)
    yield store
    store.close()


@needs_orbax
def test_a_state_comes_back_bit_for_bit(saved):
    assert saved.restore(STATE) is None
    saved.save(7, STATE)
    step, state = saved.restore(STATE)
    assert step == 7
    same(state, STATE)


@needs_orbax
def test_jax_is_not_imported_and_the_program_not_run_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, numpy as np\n"
        "print('once', flush=True)\n"
        "from tans_fault import OrbaxCheckpoints\n"
        "store = OrbaxCheckpoints(sys.argv[1])\n"
        "store.save(1, np.ones(2))\n"
        "print(store.restore(None), 'jax' in sys.modules)\n"
    )
    command = [sys.executable, str(program), str(tmp_path / "saved")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "once\n(1, array([1., 1.])) False\n"


@needs_orbax
def test_jax_reads_what_tans_has_saved(saved):
    saved.save(3, STATE)
    saved.save(4, STATE)
    assert run_jax(READ, saved.folder, 4).splitlines() == [
        "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] bfloat16 0.1",
        "4 [3, 4]",
    ]


@needs_orbax
@pytest.mark.parametrize("kind", ["StandardSave", "PyTreeSave"])
def test_tans_reads_what_jax_has_saved(saved, kind):
    run_jax(WRITE, saved.folder, kind)
    like = {"w": None, "opt": [Moments(None, None)], "t": (None, None)}
    step, state = saved.restore(like)
    assert step == 11
    w, moments, number = state["w"], state["opt"][0], state["t"][0]
    assert (w.tolist(), w.dtype) == ([0, 1, 2, 3, 4, 5, 6, 7], np.float32)
    assert isinstance(moments, Moments)
    assert (moments.mu.tolist(), moments.mu.dtype) == ([1, 1], ml_dtypes.bfloat16)
    assert (float(moments.nu), int(number), number.dtype) == (0.5, 7, np.int32)


@needs_orbax
def test_the_newest_are_kept_and_the_same_step_is_replaced(saved):
    for step in (5, 10, 15):
        saved.save(step, {"a": np.full(2, step)})
    assert saved.steps() == [10, 15]
    saved.save(15, {"a": np.full(2, 16)})
    assert saved.restore({"a": None})[1]["a"].tolist() == [16, 16]


def _cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


@needs_orbax
@pytest.mark.parametrize("damage", [_cut, _flip, lambda path: path.unlink()])
@pytest.mark.parametrize("name", ["_METADATA", "manifest.ocdbt", "d/*"])
def test_a_damaged_checkpoint_is_passed_over(saved, damage, name):
    for step in (1, 2):
        saved.save(step, {"a": np.full(1000, float(step))})
    for path in (saved.folder / "2" / "default").glob(name):
        damage(path)
    with pytest.warns(UserWarning, match="step 2 .* is damaged .*The one before it is taken"):
        step, state = saved.restore({"a": None})
    assert (step, state["a"][0]) == (1, 1.0)
    saved.save(2, {"a": np.full(1000, 2.0)})
    assert saved.restore({"a": None})[1]["a"][0] == 2.0


@needs_orbax
def test_all_damaged_is_an_error(saved):
    saved.save(1, {"a": np.ones(3)})
    _cut(saved.folder / "1" / "default" / "_METADATA")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(ValueError, match="empty the f"):
        saved.restore({"a": None})


@needs_orbax
@pytest.mark.parametrize(
    ("like", "facts"),
    [
        ({"b": None}, r"it has state\[a\], which the state lacks; it lacks state\[b\]"),
        ({"a": np.ones(4)}, r"state\[a\] has shape \(3,\) there, expected \(4,\)"),
        ({}, "1 arrays, expected 0"),
    ],
)
def test_another_structure_is_an_error(saved, like, facts):
    saved.save(1, {"a": np.ones(3)})
    with pytest.raises(ValueError, match=rf"step 1 .* does not fit the state: .*{facts}.*Give an"):
        saved.restore(like)


@needs_orbax
@pytest.mark.parametrize(
    ("state", "error", "facts"),
    [
        ({"a": np.zeros((0, 3))}, ValueError, r"state\['a'\] has shape \(0, 3\)"),
        ({}, ValueError, "no arrays"),
        ({"a": tans.random.key(0)}, TypeError, "key<fry>.*key_data"),
        ({"a": "text"}, TypeError, r"state\['a'\] is a str"),
        ({"a": np.longdouble(1)}, OSError, "float128"),
    ],
)
def test_what_orbax_can_not_store_is_refused(saved, state, error, facts):
    with pytest.raises(error, match=facts):
        saved.save(1, state)
    saved.save(2, {"a": np.ones(1)})
    assert saved.steps() == [2]


@needs_orbax
def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    store = OrbaxCheckpoints(path)
    with pytest.raises(OSError, match="step 1 could not be written"):
        store.save(1, {"a": np.ones(1)})
    with pytest.raises(NotADirectoryError, match="is a file, expected a folder"):
        store.restore({"a": None})
    store.close()


@needs_orbax
def test_the_loss_of_the_process_that_runs_orbax_is_an_error_once(saved):
    saved.save(1, {"a": np.ones(1)})
    saved._child._popen.kill()
    with pytest.raises(RuntimeError, match=r"ended with status -9 during save, expected an answer"):
        saved.save(2, {"a": np.ones(1)})
    saved.save(2, {"a": np.ones(1)})
    assert saved.steps() == [1, 2]


@needs_orbax
def test_killed_during_a_save_what_was_stored_stays(tmp_path):
    choose = random.Random(0)
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(PROGRAMS)}
    store = OrbaxCheckpoints(tmp_path)
    told = 0
    for _ in range(8):
        command = [sys.executable, str(PROGRAMS / "saving.py"), "orbax", str(tmp_path)]
        process = Process(command, env, "saving")
        process.expect("saved")
        time.sleep(choose.random())
        process.send(signal.SIGKILL)
        process.wait()
        time.sleep(1.0)  # until the child has ended too
        told = max(int(line.split()[1]) for line in process.lines if line.startswith("saved"))
        process.close()
        step, state = store.restore({"a": None, "b": [None, None]})
        assert step >= told
        values = {float(x) for leaf in tans.tree.leaves(state) for x in np.ravel(leaf)}
        assert values == {float(step)}


@needs_orbax
def test_an_elastic_loop_goes_on_from_them(tmp_path):
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}
    env |= {"PYTHONPATH": str(PROGRAMS), "TANS_TEST_STORE": "OrbaxCheckpoints"}
    command = [sys.executable, "-m", "tans_fault.launch", "-n", "2", "--embedded-coordinator"]
    command += ["--heartbeat-timeout", "4", "--collective-timeout", "8", "--timeout", "200"]
    command += [str(PROGRAMS / "launched.py"), str(tmp_path), "0:9:kill"]
    process = Process(command, env, "launcher")
    try:
        process.expect("coordinator lost")
        assert process.wait(200) == 0, process.text
        text = "\n".join(process.lines)
        assert text.count("final [240.0, 240.0]") == 2
    finally:
        process.close()
    assert OrbaxCheckpoints(tmp_path).restore(None)[0] == 20
