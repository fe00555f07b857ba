"""Finds a Python interpreter that Tans supports; runs under any Python from 3.8 on.

A name on the PATH proves nothing: version managers leave shims that refuse to start. So each
candidate is started once, and why it was turned down is kept for the message.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from typing import Iterator, NamedTuple

OLDEST = (3, 12)
# In order of preference: the versions that have jaxlib wheels.
VERSIONS = ("3.13", "3.12", "3.14", "3.15")
_PROBE = (
    "import importlib.util as u, sys; "
    "print(*sys.version_info[:2], int(u.find_spec('ensurepip') is not None), sys.executable)"
)


class Found(NamedTuple):
    """An interpreter that starts and is new enough."""

    path: str
    version: tuple[int, int]


class Verdict(NamedTuple):
    """What one candidate turned out to be: ``found``, or a ``reason`` against it."""

    found: Found | None
    reason: str


def run_text(command: list[str], timeout: float = 20.0) -> tuple[int, str]:
    """Run a command and return its status and output; status 127 when it cannot start."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            text=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return 127, str(error)
    return done.returncode, done.stdout.strip()


def probe(command: list[str], have_uv: bool) -> Verdict:
    """Start one candidate and judge it.

    Args:
      command: how to start it, without arguments.
      have_uv: whether uv can make the environment, so that ensurepip is not needed.
    """
    status, out = run_text([*command, "-c", _PROBE])
    words = out.splitlines()[-1].split(" ", 3) if out else []
    if status or len(words) != 4 or not words[0].isdigit():
        return Verdict(None, "does not start: %s" % (out.splitlines() or ["no output"])[0])
    version = (int(words[0]), int(words[1]))
    if version < OLDEST:
        return Verdict(None, "is Python %d.%d, older than %d.%d" % (version + OLDEST))
    if words[2] == "0" and not have_uv:
        return Verdict(None, "has no ensurepip (on Debian: install python%d.%d-venv)" % version)
    return Verdict(Found(words[3], version), "")


def working_uv() -> str | None:
    """Return the path of a uv that starts, or None."""
    path = shutil.which("uv")
    return path if path and run_text([path, "--version"])[0] == 0 else None


def pyenv_folders(environ: dict[str, str]) -> list[str]:
    """List the interpreters in pyenv's versions folder, preferred versions first."""
    home = os.path.expanduser("~")
    roots = [environ.get("PYENV_ROOT", ""), os.path.join(home, ".pyenv")]
    found = []
    for root in [r for r in roots if r]:
        for version in VERSIONS:
            pattern = os.path.join(root, "versions", version + ".*", "bin", "python")
            found += sorted(glob.glob(pattern), reverse=True)
    return list(dict.fromkeys(found))


def candidates(environ: dict[str, str], uv: str | None) -> Iterator[tuple[str, list[str]]]:
    """Yield (where it comes from, command) in the order in which to try them."""
    if environ.get("TANS_PYTHON"):
        yield "TANS_PYTHON", [environ["TANS_PYTHON"]]
    yield "the running interpreter", [sys.executable]
    for version in VERSIONS:
        path = shutil.which("python" + version)
        if path:
            yield "the PATH", [path]
    if os.name == "nt" and shutil.which("py"):
        for version in VERSIONS:
            yield "the py launcher", ["py", "-" + version]
    for path in pyenv_folders(environ):
        yield "pyenv", [path]
    for path in ("python3", "python"):
        if shutil.which(path):
            yield "the PATH", [shutil.which(path) or path]
    if uv:
        # Fetches an interpreter when the machine has none.
        for action in (["python", "find"], ["python", "install", "--quiet"], ["python", "find"]):
            status, out = run_text([uv, *action, VERSIONS[0]], timeout=300.0)
            if status == 0 and action[-1] == "find" and out:
                yield "uv", [out.splitlines()[-1]]


def find(environ: dict[str, str] | None = None) -> tuple[Found | None, list[str]]:
    """Find an interpreter.

    Returns:
      The interpreter or None, and one line per candidate that was turned down.
    """
    environ = dict(os.environ) if environ is None else environ
    uv = working_uv()
    tried: list[str] = []
    seen = set()
    for origin, command in candidates(environ, uv):
        if tuple(command) in seen:
            continue
        seen.add(tuple(command))
        verdict = probe(command, uv is not None)
        if verdict.found:
            return verdict.found, tried
        tried.append("%s (%s) %s" % (" ".join(command), origin, verdict.reason))
    if uv is None:
        tried.append("uv is not on the PATH")
    return None, tried
