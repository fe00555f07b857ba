"""A program that ends with the one that started it: ``python tied.py PARENT GUARD PROGRAM ...``.

Run by its path, so that nothing of Tans is imported. It tells the guard, through a pipe, that its
process group has begun. On Linux the kernel kills the program itself when the parent ends, also if
there is no guard any more.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the program."""
    parent, guard, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(BrokenPipeError):
        os.write(int(guard), f"+{os.getpid()}\n".encode())
    os.close(int(guard))
    if os.getppid() != int(parent):  # it ended before the kernel was told
        os._exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
