import ast
import json
import os
import stat
import sys
from pathlib import Path

import pytest

import environment
import interpreters

TOOLS = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["dev.py", "environment.py", "interpreters.py"])
def test_set_up_runs_under_python_3_8(name):
    source = (TOOLS / name).read_text()
    assert ast.parse(source, feature_version=(3, 8)).body
    assert "from __future__ import annotations" in source


def script(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def test_a_shim_that_does_not_start_is_turned_down_with_its_words(tmp_path):
    shim = script(tmp_path, "python3.13", "echo 'pyenv: python3.13: command not found'; exit 127")
    verdict = interpreters.probe([shim], have_uv=False)
    assert verdict.found is None
    assert "command not found" in verdict.reason


def test_an_old_interpreter_is_turned_down(tmp_path):
    old = script(tmp_path, "python", "echo 3 9 1 /usr/bin/python3.9")
    assert "older than 3.12" in interpreters.probe([old], have_uv=False).reason


def test_without_ensurepip_uv_is_needed(tmp_path):
    bare = script(tmp_path, "python", "echo 3 13 0 /usr/bin/python3.13")
    assert "ensurepip" in interpreters.probe([bare], have_uv=False).reason
    assert interpreters.probe([bare], have_uv=True).found.version == (3, 13)


def test_the_running_interpreter_is_found():
    found, _ = interpreters.find({})
    assert found.version == sys.version_info[:2]


def test_pyenv_folders_are_searched_newest_patch_first(tmp_path):
    for version in ("3.9.1", "3.12.1", "3.13.0", "3.13.2"):
        folder = tmp_path / "versions" / version / "bin"
        folder.mkdir(parents=True)
        (folder / "python").touch()
    found = interpreters.pyenv_folders({"PYENV_ROOT": str(tmp_path)})
    versions = [Path(p).parent.parent.name for p in found if p.startswith(str(tmp_path))]
    assert versions == ["3.13.2", "3.13.0", "3.12.1"]


def test_no_interpreter_lists_what_was_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreters, "find", lambda: (None, ["python3.13 (the PATH) is a shim"]))
    with pytest.raises(environment.SetupError) as caught:
        environment.make_venv(str(tmp_path), None)
    assert "python3.13 (the PATH) is a shim" in str(caught.value)
    assert "TANS_PYTHON" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("Failed to establish a new connection: [Errno -3] name resolution", "network"),
        ("ERROR: No matching distribution found for jaxlib<0.13", "wheel"),
        ("Could not find scipy (from versions: none)", "network"),
        ("Obtaining file:///a\n  OSError: no readme\nerror: metadata-generation-failed", "Mend"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("something else", ".venv"),
    ],
)
def test_a_failed_installation_is_explained(line, remedy):
    assert remedy in environment.explain(["Collecting jaxlib", line])


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "packages" / "a").mkdir(parents=True)
    (tmp_path / "packages" / "a" / "pyproject.toml").write_text("[project]\n")
    python = Path(environment.venv_python(str(tmp_path)))
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return tmp_path


def stamp(root, groups):
    text = json.dumps({"key": environment.fingerprint(str(root)), "groups": groups})
    (root / ".venv" / "tans-stamp.json").write_text(text)


def test_a_second_run_installs_nothing(checkout, monkeypatch):
    stamp(checkout, ["test"])
    monkeypatch.setattr(environment, "install", lambda *_: pytest.fail("installed again"))
    python = environment.prepare(str(checkout), ["test"])
    assert python == environment.venv_python(str(checkout))


@pytest.mark.parametrize("change", ["pyproject", "group", "no stamp"])
def test_a_change_installs_again(checkout, monkeypatch, change):
    installed = []
    monkeypatch.setattr(environment, "install", lambda root, groups, uv: installed.append(groups))
    if change != "no stamp":
        stamp(checkout, ["test"])
    if change == "pyproject":
        (checkout / "packages" / "a" / "pyproject.toml").write_text("[project]\nname='a'\n")
    environment.prepare(str(checkout), ["demo"] if change == "group" else ["test"])
    expected = ["demo", "test"] if change == "group" else ["test"]
    assert installed == [expected]
    assert environment.read_stamp(str(checkout))["groups"] == expected


def test_a_failed_install_leaves_no_stamp(checkout, monkeypatch):
    def fail(*_):
        raise environment.SetupError("no network")

    monkeypatch.setattr(environment, "install", fail)
    with pytest.raises(environment.SetupError):
        environment.prepare(str(checkout), [])
    assert not os.path.exists(checkout / ".venv" / "tans-stamp.json")
