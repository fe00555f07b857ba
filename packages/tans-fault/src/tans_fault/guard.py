"""A program that outlives its launcher for a moment, to end what that has started.

``python guard.py``, run by its path like ``tied.py``. It reads lines from its standard input: ``+``
and the number of a process group that has begun, ``-`` and the number of one that has ended. When
the input ends, however that happens, it kills the groups that are left.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Note groups until the input ends, then kill those that are left."""
    groups: set[int] = set()
    for line in sys.stdin:
        change = groups.add if line.startswith("+") else groups.discard
        change(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
