#!/usr/bin/env python3
"""Set up Tans in a fresh checkout and run its demo, tests or doctor.

Runs under any Python from 3.8 on and needs only the standard library: it looks for an
interpreter that Tans supports, makes ``.venv`` with it and hands the work over.
"""

from __future__ import annotations

import os
import subprocess
import sys

import environment

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USAGE = """\
usage: python3 tools/dev.py COMMAND [ARGUMENTS]

  demo     train a network on handwritten digits (ARGUMENTS: see demo --help)
  test     run every check, as continuous integration does
  doctor   show what is installed and which devices work, with a remedy per fault
  setup    only make the environment in .venv
"""
GROUPS = {
    "demo": ["demo"],
    "test": ["demo", "dev", "test"],
    "doctor": [],
    "setup": ["demo", "dev", "test"],
}


def command_line(command: str, python: str, rest: list[str]) -> list[str]:
    """Return what to start in the environment for one command; empty for ``setup``."""
    if command == "demo":
        return [python, os.path.join(ROOT, "tools", "demo", "digits.py"), *rest]
    if command == "doctor":
        return [python, os.path.join(ROOT, "tools", "doctor.py"), *rest]
    if command == "test":
        return [
            python,
            "-m",
            "nox",
            "-f",
            os.path.join(ROOT, "noxfile.py"),
            "-s",
            "ci",
            "--",
            *rest,
        ]
    return []


def main(argv: list[str]) -> int:
    """Prepare the environment and run one command in it; return its exit status."""
    if not argv or argv[0] not in GROUPS:
        print(USAGE, file=sys.stderr if argv[:1] not in (["-h"], ["--help"]) else sys.stdout)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 2
    try:
        python = environment.prepare(ROOT, GROUPS[argv[0]])
    except environment.SetupError as error:
        print("\n%s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    command = command_line(argv[0], python, argv[1:])
    if not command:
        print("The environment is ready: %s" % python)
        return 0
    try:
        return subprocess.call(command, cwd=ROOT)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
