"""Makes ``.venv`` with all packages installed editable; runs under any Python from 3.8 on.

A stamp in the environment records the pyproject files it was made from, so a second run
starts at once.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time

import interpreters

_TELLING = re.compile(
    r"^(Obtaining|Collecting|Downloading|Building wheel|Building editable|Installing collected"
    r"|Successfully|Resolved|Prepared|Installed|Built|ERROR|error|  . )"
)
_NETWORK = (
    "The package index could not be reached. Check the network, the proxy settings "
    "(HTTPS_PROXY) and the index settings (pip config list), then run the command again; "
    "what was already fetched is kept."
)
_WHEEL = (
    "A dependency has no ready-made wheel for this system, and no compiler could build it. "
    "jaxlib, which holds the XLA compiler, has wheels for Linux (x86-64, aarch64; glibc), "
    "macOS (arm64) and Windows (x86-64) under Python 3.12 to 3.15. "
    "Use one of these, and set TANS_PYTHON to choose the interpreter."
)
_PYPROJECT = (
    "A package of this checkout can't be prepared: the lines above say which and why. Mend its "
    "pyproject.toml or the files it names, and run the command again."
)
_DISK = "The disk is full. About 2 GB are needed for .venv and the download cache."
# What the output says, and what to do; the first that fits counts. pip tells a missing
# index and a missing wheel apart only by which package it stops at.
_FAULTS = (
    (
        r"name resolution|NewConnectionError|Network is unreachable|Connection refused"
        r"|ConnectTimeout|Read timed out|ProxyError|dns error|error sending request|SSLError"
        r"|Could not connect|tunnel",
        _NETWORK,
    ),
    (r"No space left on device", _DISK),
    (
        r"Obtaining file:[^\n]*\n(?:(?!Collecting)[^\n]*\n)*[^\n]*metadata-generation-failed",
        _PYPROJECT,
    ),
    (r"No matching distribution found for jaxlib", _WHEEL),
    (r"\(from versions: none\)", _NETWORK),
    (
        r"No matching distribution|Failed building wheel|command '.*(gcc|cc|clang)'|Visual C\+\+"
        r"|metadata-generation-failed|no wheels with a matching|only has wheels for",
        _WHEEL,
    ),
)


class SetupError(Exception):
    """The environment could not be made; the text says what was tried and what to do."""


def venv_python(root: str) -> str:
    """Return the path of the interpreter inside ``.venv``, which need not exist."""
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(root, ".venv", folder, name)


def fingerprint(root: str) -> str:
    """Hash all that decides what is installed: the pyproject files and where they are."""
    digest = hashlib.sha256(os.path.abspath(root).encode())
    patterns = ("packages/*/pyproject.toml", "tools/pyproject.toml", "tools/demo/pyproject.toml")
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(root, *pattern.split("/")))):
            with open(path, "rb") as file:
                digest.update(os.path.relpath(path, root).encode() + b"\0" + file.read())
    return digest.hexdigest()


def read_stamp(root: str) -> dict[str, object]:
    """Return the stamp of ``.venv``, or an empty one."""
    try:
        with open(os.path.join(root, ".venv", "tans-stamp.json"), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}


def stream(command: list[str], root: str) -> tuple[int, list[str]]:
    """Run a command, showing the lines that tell its progress; return status and all lines."""
    lines: list[str] = []
    process = subprocess.Popen(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip())
        if _TELLING.match(line) or _TELLING.match(line.lstrip()):
            print("  " + line.strip()[:96], flush=True)
    return process.wait(), lines


def telling_end(lines: list[str]) -> list[str]:
    """Return the last lines of an output, led by the last ones that name an error."""
    errors = [line for line in lines[:-6] if re.search(r"Error: |^ERROR|^error", line.strip())]
    return errors[-2:] + lines[-6:]


def explain(lines: list[str]) -> str:
    """Turn the output of a failed installation into what to do about it."""
    text = "\n".join(lines)
    for pattern, remedy in _FAULTS:
        if re.search(pattern, text):
            return remedy
    return "Read the lines above; to begin anew, delete the folder .venv."


def make_venv(root: str, uv: str | None) -> None:
    """Make ``.venv`` with a supported interpreter.

    Raises:
      SetupError: no interpreter was found, or the environment can't be made.
    """
    found, tried = interpreters.find()
    if found is None:
        raise SetupError(
            "No Python %d.%d or newer was found. Tried:\n" % interpreters.OLDEST
            + "".join("  - %s\n" % line for line in tried)
            + "Install Python 3.13 (from python.org, your system's packages, pyenv or uv), "
            "or point TANS_PYTHON at one, and run the command again."
        )
    print("Making .venv with Python %d.%d" % found.version, flush=True)
    venv = os.path.join(root, ".venv")
    attempts = [[found.path, "-m", "venv", "--clear", venv]]
    if uv:
        attempts.insert(
            0, [uv, "venv", "--quiet", "--clear", "--seed", "--python", found.path, venv]
        )
    failures = []
    for command in attempts:
        status, out = interpreters.run_text(command, timeout=300.0)
        if status == 0 and os.path.exists(venv_python(root)):
            return
        failures.append("  - %s\n    %s\n" % (" ".join(command), out[-400:]))
    raise SetupError(
        "The environment .venv could not be made. Tried:\n%sCheck that the folder is writable "
        "and that this Python has its venv module." % "".join(failures)
    )


def install(root: str, groups: list[str], uv: str | None) -> None:
    """Install all packages editable, with their dependencies, in one command.

    Raises:
      SetupError: no installer managed to.
    """
    python = venv_python(root)
    listing = os.path.join(root, "tools", "workspace.py")
    status, out = interpreters.run_text([python, listing, "requirements", *groups])
    if status:
        raise SetupError("The pyproject files can't be read:\n%s" % out)
    arguments = out.split("\n")
    attempts = []
    if uv:
        attempts.append([uv, "pip", "install", "--python", python, *arguments])
    if interpreters.run_text([python, "-m", "pip", "--version"])[0] == 0:
        flags = ["--disable-pip-version-check", "--progress-bar", "off"]
        attempts.append([python, "-m", "pip", "install", *flags, *arguments])
    tried = []
    lines: list[str] = []
    for command in attempts:
        tool = os.path.basename(command[0]) if command[0] == uv else "pip"
        print("Installing Tans and its dependencies with %s" % tool, flush=True)
        status, lines = stream(command, root)
        if status == 0:
            return
        tried.append("  - %s, which ended with:\n" % tool)
        tried += ["      %s\n" % line[:200] for line in telling_end(lines)]
    raise SetupError(
        "The packages could not be installed. Tried:\n%s%s" % ("".join(tried), explain(lines))
    )


def prepare(root: str, groups: list[str]) -> str:
    """Bring ``.venv`` up to date.

    Args:
      root: the top folder of the checkout.
      groups: dependency groups that must be installed besides the packages.

    Returns:
      The path of the environment's interpreter.

    Raises:
      SetupError: it can't be done; the text says what was tried and what to do.
    """
    python, key, stamp = venv_python(root), fingerprint(root), read_stamp(root)
    listed = stamp.get("groups", [])
    have = [str(g) for g in listed] if isinstance(listed, list) else []
    usable = os.path.exists(python)
    if usable and stamp.get("key") == key and set(groups) <= set(have):
        return python
    started = time.time()
    uv = interpreters.working_uv()
    if not usable or interpreters.run_text([python, "-c", "pass"])[0]:
        make_venv(root, uv)
        have = []
    wanted = sorted(set(groups) | set(have))
    install(root, wanted, uv)
    with open(os.path.join(root, ".venv", "tans-stamp.json"), "w", encoding="utf-8") as file:
        json.dump({"key": key, "groups": wanted}, file)
    print("Ready after %.0f s" % (time.time() - started), flush=True)
    return python


if __name__ == "__main__":
    print(venv_python(sys.argv[1] if len(sys.argv) > 1 else os.getcwd()))
