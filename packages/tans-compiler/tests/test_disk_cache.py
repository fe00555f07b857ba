"""Programs on disk: vectors 52 and 61, damage, foreign entries, and many users at once."""

import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.experimental.compilation_cache import compilation_cache
from tans_compiler import reset_cache, statistics
from tans_compiler.disk_cache import directory, entries, signing

X = np.arange(4, dtype=np.float32)


def program(source_line=0):
    """Return a new function of one name; the lines differ, the programs don't."""
    if source_line:

        def g(x):
            return jnp.sin(x) + 1

    else:

        def g(x):
            return jnp.sin(x) + 1

    return g


def run(options=None, fun=None):
    result = tans.jit(fun or program(), compiler_options=options)(X)
    np.testing.assert_allclose(result, np.sin(X) + 1, rtol=1e-6)


def files(cache_dir):
    return sorted(p.name for p in cache_dir.glob("jit_g-*-cache"))


def test_v52_hits_and_misses(cache_dir):
    run()
    (name,) = files(cache_dir)
    assert len(name) == len("jit_g-") + 64 + len("-cache")
    before = statistics()
    run()
    assert statistics().hits == before.hits + 1
    run(fun=program(1))
    assert statistics().hits == before.hits + 2
    assert files(cache_dir) == [name]
    run({"xla_cpu_enable_fast_math": True})
    assert len(files(cache_dir)) == 2

    def h(x):
        return jnp.sin(x) + 1

    run(fun=h)
    assert len(list(cache_dir.glob("jit_h-*-cache"))) == 1
    assert statistics().seconds_saved > 0


def test_options_of_different_types_have_entries_of_their_own(cache_dir):
    run({"xla_backend_optimization_level": 1})
    run({"xla_backend_optimization_level": "1"})
    assert len(files(cache_dir)) == 2


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("jax_optimization_level", "O1"),
        ("jax_memory_fitting_level", "O1"),
        ("jax_disable_most_optimizations", True),
        ("jax_compiler_enable_remat_pass", False),
    ],
)
def test_configs_of_the_compiler_are_part_of_the_key(cache_dir, flag, value):
    run()
    old = tans.config.read(flag)
    tans.config.update(flag, value)
    try:
        run()
    finally:
        tans.config.update(flag, old)
    assert len(files(cache_dir)) == 2


def test_source_lines_can_be_part_of_the_key(cache_dir):
    tans.config.update("jax_compilation_cache_include_metadata_in_key", True)
    try:
        run()
        run(fun=program(1))
    finally:
        tans.config.update("jax_compilation_cache_include_metadata_in_key", False)
    assert len(files(cache_dir)) == 2


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("jax_enable_compilation_cache", False),
        ("jax_compilation_cache_dir", None),
        ("jax_persistent_cache_min_compile_time_secs", 3600.0),
        ("jax_persistent_cache_min_entry_size_bytes", 1 << 30),
        ("jax_compilation_cache_max_size", 10),
    ],
)
def test_nothing_is_stored(cache_dir, flag, value):
    old = tans.config.read(flag)
    tans.config.update(flag, value)
    try:
        run()
    finally:
        tans.config.update(flag, old)
    assert not cache_dir.exists() or not files(cache_dir)


DAMAGES = {
    "empty": lambda blob: b"",
    "cut": lambda blob: blob[: len(blob) // 2],
    "head only": lambda blob: blob[:45],
    "one bit": lambda blob: blob[:-20] + bytes([blob[-20] ^ 1]) + blob[-19:],
    "signature": lambda blob: blob[:10] + bytes([blob[10] ^ 1]) + blob[11:],
    "noise": lambda blob: os.urandom(len(blob)),
    "longer": lambda blob: blob + b"x",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_entries_are_replaced(cache_dir, damage, caplog):
    run()
    (name,) = files(cache_dir)
    good = (cache_dir / name).read_bytes()
    (cache_dir / name).write_bytes(damage(good))
    with caplog.at_level(logging.WARNING, "tans.compilation_cache"):
        run()
    assert name in caplog.text
    assert statistics().rejected == 1
    hits = statistics().hits
    run()
    assert statistics().hits == hits + 1


@pytest.mark.parametrize("how", ["foreign key", "renamed", "pickle"])
def test_hostile_entries_are_never_loaded(cache_dir, how, monkeypatch, tmp_path):
    import pickle

    run()
    (name,) = files(cache_dir)
    path = cache_dir / name
    entry = entries.unpack(name, path.read_bytes(), signing.key())
    marker = tmp_path / "executed"

    class Bomb:
        def __reduce__(self):
            return (marker.write_text, ("x",))

    blobs = {
        "foreign key": entries.pack(name, entry.payload, 1.0, b"k" * 32),
        "renamed": entries.pack("other", entry.payload, 1.0, signing.key()),
        "pickle": pickle.dumps(Bomb()),
    }
    path.write_bytes(blobs[how])
    loads = []
    monkeypatch.setattr("tans_compiler.disk_cache.load_executable", lambda *a: loads.append(a))
    run()
    assert loads == []
    assert not marker.exists()
    assert statistics().rejected == 1


def test_a_signed_entry_that_xla_refuses_is_replaced(cache_dir):
    run()
    (name,) = files(cache_dir)
    (cache_dir / name).write_bytes(entries.pack(name, b"no executable", 1.0, signing.key()))
    run()
    assert statistics().rejected == 1
    entry = entries.unpack(name, (cache_dir / name).read_bytes(), signing.key())
    assert entry.payload != b"no executable"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_the_key_is_private(tmp_path, monkeypatch):
    path = tmp_path / "state" / "key"
    monkeypatch.setenv(signing.VARIABLE, str(path))
    signing.forget()
    key = signing.key()
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    signing.forget()
    assert signing.key() == key
    path.chmod(0o622)
    signing.forget()
    with pytest.raises(signing.NoKeyError, match="chmod 600"):
        signing.key()
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(signing.NoKeyError, match="has 5 bytes; expected at least 32"):
        signing.key()


def test_the_key_is_in_the_state_directory(monkeypatch, tmp_path):
    monkeypatch.delenv(signing.VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert signing.key_file() == tmp_path / "tans" / "compilation-cache.key"


@pytest.mark.parametrize("raises", [False, True])
def test_a_cache_that_cannot_be_used(cache_dir, tmp_path, monkeypatch, raises, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("x")
    monkeypatch.setenv(signing.VARIABLE, str(blocked / "key"))
    signing.forget()
    tans.config.update("jax_raise_persistent_cache_errors", raises)
    try:
        if raises:
            with pytest.raises(signing.NoKeyError, match=signing.VARIABLE):
                run()
        else:
            run()
            assert signing.VARIABLE in caplog.text
    finally:
        tans.config.update("jax_raise_persistent_cache_errors", False)


def test_old_entries_make_room(tmp_path):
    for i in range(4):
        assert directory.write(tmp_path, f"p{i}-cache", b"x" * 100)
        os.utime(tmp_path / f"p{i}-cache", (i, i))
    (tmp_path / ".p9-cache.1.a.unfinished").write_bytes(b"x")
    os.utime(tmp_path / ".p9-cache.1.a.unfinished", (0, 0))
    (tmp_path / "other.txt").write_bytes(b"x" * 1000)
    tans.config.update("jax_compilation_cache_max_size", 300)
    try:
        directory.write(tmp_path, "p4-cache", b"x" * 100)
    finally:
        tans.config.update("jax_compilation_cache_max_size", -1)
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["other.txt", "p2-cache", "p3-cache", "p4-cache"]


def test_many_threads(cache_dir):
    errors = []

    def work():
        try:
            for _ in range(3):
                run()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(files(cache_dir)) == 1
    assert statistics().rejected == 0
    assert [p.name for p in cache_dir.iterdir()] == files(cache_dir)


_CHILD = """
import sys, numpy as np, tans, tans.numpy as jnp
from tans_compiler import statistics
tans.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
seen = []
def f(x):
    tans.debug.callback(lambda v: seen.append((sys.argv[1], float(v))), x[0])
    return jnp.sin(x) * 3
y = tans.jit(f)(np.ones(4, np.float32))
tans.effects_barrier()
print(seen, statistics().hits, statistics().stored, statistics().rejected, float(y[0]))
"""


def _child(cache_dir, name, **more):
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, name],
        env=os.environ | {"TANS_COMPILATION_CACHE_DIR": str(cache_dir)} | more,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_v61_a_second_process_runs_its_own_callback(cache_dir):
    for name, hits in (("first", 0), ("second", 1)):
        child = _child(cache_dir, name)
        out, _ = child.communicate(timeout=120)
        assert child.returncode == 0
        seen, _, counts = out.strip().partition("] ")
        assert seen == f"[('{name}', 1.0)"
        assert (int(counts.split()[0]) > 0) is bool(hits)
        assert counts.split()[2] == "0"


def test_many_processes(cache_dir):
    children = [_child(cache_dir, str(i)) for i in range(4)]
    for child in children:
        out, _ = child.communicate(timeout=240)
        assert child.returncode == 0
        assert out.split()[-2] == "0"
    assert len(list(cache_dir.glob("jit_f-*-cache"))) == 1


def test_public_functions(tmp_path):
    old = tans.config.jax_compilation_cache_dir
    try:
        compilation_cache.set_cache_dir(tmp_path)
        assert tans.config.jax_compilation_cache_dir == str(tmp_path)
        compilation_cache.reset_cache()
        assert statistics().requests == 0
    finally:
        tans.config.update("jax_compilation_cache_dir", old)
        reset_cache()
