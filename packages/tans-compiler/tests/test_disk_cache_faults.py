"""The cache on disk among things that are no entries, other users, other flags and places."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans_compiler import reset_cache, set_cache_dir, statistics
from tans_compiler.disk_cache import directory, entries, signing

X = np.arange(4, dtype=np.float32)
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and owners of files are POSIX's")


def run(name="g"):
    def g(x):
        return jnp.sin(x) + 1

    g.__name__ = name
    np.testing.assert_allclose(tans.jit(g)(X), np.sin(X) + 1, rtol=1e-6)


def only_file(cache_dir):
    (path,) = cache_dir.glob("jit_g-*-cache")
    return path


OBSTACLES = {
    "pipe": os.mkfifo if hasattr(os, "mkfifo") else None,
    "directory": os.mkdir,
    "device": lambda path: os.symlink("/dev/zero", path),
    "link to nothing": lambda path: os.symlink("/nowhere/at/all", path),
    "loop": lambda path: os.symlink(path, path),
    "a terabyte": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}


@posix
@pytest.mark.parametrize("make", OBSTACLES.values(), ids=OBSTACLES)
def test_what_is_no_file_is_not_read(cache_dir, make):
    run()
    path = only_file(cache_dir)
    path.unlink()
    try:
        make(path)
    except OSError as error:
        pytest.skip(f"the file system refuses it: {error}")
    run()
    stored = statistics().stored
    run()
    is_dir = path.is_dir()  # nobody's directory is removed
    assert statistics().stored == stored
    assert (statistics().hits == 1) is not is_dir
    if is_dir:
        path.rmdir()


@posix
def test_a_key_that_is_a_pipe(cache_dir, tmp_path, monkeypatch, caplog):
    os.mkfifo(tmp_path / "pipe", 0o600)
    monkeypatch.setenv(signing.VARIABLE, str(tmp_path / "pipe"))
    signing.forget()
    run()
    assert "is no regular file" in caplog.text


@posix
def test_entries_of_another_user_are_used(cache_dir, monkeypatch):
    run()

    def utime(path):
        raise PermissionError(1, "not the owner", str(path))

    monkeypatch.setattr(os, "utime", utime)
    run()
    assert statistics().hits == 1


@posix
def test_a_key_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv(signing.VARIABLE, str(tmp_path / "key"))
    signing.forget()
    signing.key()
    mine = os.getuid()
    os.chown(tmp_path / "key", mine + 1, -1) if mine == 0 else None
    monkeypatch.setattr(os, "getuid", lambda: mine + 2)
    signing.forget()
    with pytest.raises(signing.NoKeyError, match=f"belongs to user .*user {mine + 2}"):
        signing.key()


def test_a_key_where_files_have_no_links(tmp_path, monkeypatch):
    def link(source, target):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setenv(signing.VARIABLE, str(tmp_path / "key"))
    signing.forget()
    key = signing.key()
    signing.forget()
    assert signing.key() == key
    assert [p.name for p in tmp_path.iterdir()] == ["key"]


def test_a_relative_state_directory_is_ignored(monkeypatch, tmp_path):
    monkeypatch.delenv(signing.VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = tmp_path / ".local" / "state" / "tans" / "compilation-cache.key"
    assert signing.key_file() == expected


@pytest.mark.parametrize("path", ["gs://bucket/x", "file:///tmp/x", "nul\0", "\ud800"])
def test_names_that_are_no_directories(cache_dir, tmp_path, path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    tans.config.update("jax_compilation_cache_dir", path)
    run()
    assert "; expected " in caplog.text
    assert "Programs are compiled without it" in caplog.text
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match=r"jax_compilation_cache_dir=.*(Mount|null characters)"):
        set_cache_dir(path)


def test_home_is_meant_by_a_tilde(cache_dir, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    tans.config.update("jax_compilation_cache_dir", "~/kept")
    run()
    assert only_file(tmp_path / "kept")


@pytest.mark.parametrize("name", ["relative-to-here", "relative-to-here/below"])
def test_a_relative_directory_stays_when_the_working_directory_changes(
    cache_dir, monkeypatch, tmp_path, name
):
    (tmp_path / "elsewhere").mkdir()
    for set_it in (lambda p: tans.config.update("jax_compilation_cache_dir", p), set_cache_dir):
        monkeypatch.chdir(tmp_path)
        set_it(name)
        run()
        monkeypatch.chdir(tmp_path / "elsewhere")
        run()
        assert only_file(tmp_path / name)
        assert list((tmp_path / "elsewhere").iterdir()) == []
        only_file(tmp_path / name).unlink()


def test_a_fault_is_said_once(cache_dir, caplog):
    cache_dir.write_text("no directory")
    for name in "abcd":
        run(name)
    reports = [r.getMessage() for r in caplog.records if r.name == "tans.compilation_cache"]
    assert len(reports) == 2  # it can't be read, nor made
    for report in reports:
        assert "jax_compilation_cache_dir=" in report
        assert "expected a directory that you can read and write" in report
    reset_cache()
    tans.config.update("jax_raise_persistent_cache_errors", True)
    try:
        with pytest.raises(NotADirectoryError, match="expected a directory that you can read"):
            run("e")
    finally:
        tans.config.update("jax_raise_persistent_cache_errors", False)


@pytest.mark.parametrize("name", ["a/b", "../../x", "ü" * 80, "n" * 500, "C:\\x", "-rf", "a b"])
def test_names_of_files_are_plain(cache_dir, name):
    run(name)
    run(name)
    assert statistics().hits == 1
    (path,) = cache_dir.iterdir()
    assert path.name.isascii()
    assert not set(path.name) & set("\\/: ")


def test_files_of_killed_processes_are_removed(cache_dir):
    cache_dir.mkdir()
    for age, name in ((0, ".a-cache.1.b.unfinished"), (7200, ".b-cache.1.b.unfinished")):
        (cache_dir / name).write_bytes(b"x")
        os.utime(cache_dir / name, (directory.time.time() - age,) * 2)
    run()
    left = [p.name for p in cache_dir.iterdir() if "unfinished" in p.name]
    assert left == [".a-cache.1.b.unfinished"]


_FLAGS = """
import os, sys
import numpy as np
import tans, tans.numpy as jnp
from tans_compiler import statistics
tans.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
tans.devices()
if len(sys.argv) > 1:
    os.environ["XLA_FLAGS"] = sys.argv[1]
text = tans.jit(lambda x: jnp.tanh(x) * jnp.exp(x)).lower(np.ones(64)).compile().as_text()
print(statistics().hits, text.count("fusion("))
"""


def _with_flags(cache_dir, flags="", late=()):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FLAGS, *late],
        env=os.environ | {"TANS_COMPILATION_CACHE_DIR": str(cache_dir), "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    hits, fusions = map(int, done.stdout.split())
    return hits > 0, fusions


def test_flags_count_as_xla_read_them(cache_dir, tmp_path):
    no_fusion = "--xla_disable_hlo_passes=fusion"
    hit, fusions = _with_flags(cache_dir, late=[no_fusion])  # XLA has read the variable before
    assert not hit
    assert _with_flags(cache_dir) == (True, fusions)
    hit, without = _with_flags(cache_dir, no_fusion)
    assert not hit
    assert without != fusions
    flag_file = tmp_path / "flags"
    flag_file.write_text(no_fusion)
    assert _with_flags(cache_dir, str(flag_file)) == (True, without)
    flag_file.write_text("--xla_dump_hlo_as_text=false")
    assert _with_flags(cache_dir, str(flag_file)) == (True, fusions)
    fast = "--xla_cpu_enable_fast_math="
    assert not _with_flags(cache_dir, f"{fast}false {fast}true")[0]
    assert _with_flags(cache_dir, f"{fast}true {fast}false")[0]  # the last one counts


def test_shardings_are_reported_though_the_program_is_kept(cache_dir):
    seen = []
    mesh = tans.make_mesh((4,), ("x",), axis_types=(tans.sharding.AxisType.Auto,))
    x = tans.device_put(X, tans.NamedSharding(mesh, tans.P("x")))
    for count in (1, 2):

        @tans.jit
        def g(x):
            tans.debug.inspect_array_sharding(x, callback=seen.append)
            return x + 1

        g(x)
        assert len(seen) == count
    assert statistics().requests == 0


def test_entries_are_read_once_their_mark_is_seen(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    path = tmp_path / "e-cache"
    assert entries.read(path) is None
    path.write_bytes(b"no mark")
    with pytest.raises(entries.BadEntryError, match="no entry of this cache"):
        entries.read(path)
