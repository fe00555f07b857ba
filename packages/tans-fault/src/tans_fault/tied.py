"""A program that ends when the one that started it does: ``python tied.py PARENT PROGRAM ...``.

Run by its path, so that nothing of Tans is imported. On Linux the kernel kills the program when the
parent ends, however that happens; elsewhere the program just runs.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the program."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before the kernel was told
        os._exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
