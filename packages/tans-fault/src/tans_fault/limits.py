"""A limit of what a process may do by itself: if it hangs it ends, so that the others can go on."""

import contextlib
import faulthandler
import math
import os
import threading
from collections.abc import Iterator
from typing import Final

from tans_fault import epochs, settings
from tans_fault.coordination import state

EXIT_STEP_TOO_LONG: Final = 76
_STDERR: Final = 2


@contextlib.contextmanager
def limited(seconds: float | None, what: str) -> Iterator[None]:
    """End the process with status 76 if the block takes longer; None is no limit.

    The block may wait for others too, which takes as long as a collective or a meeting waits. That
    is added, so that those who wait for a process that hangs don't end with it.

    Args:
      seconds: how long it may take by itself.
      what: what it does, for the last words.
    """
    if seconds is None:
        yield
        return
    waiting = max(settings.collective_bound(), epochs.meeting_seconds())
    timer = threading.Timer(seconds + waiting, _end, (seconds, waiting, what))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(seconds: float, waiting: float, what: str) -> None:
    text = (
        f"tans: process {state.process_id}: run_elastic: {what} is not done after "
        f"{seconds + waiting:g} s, expected longest_step={seconds:g} s at most, and {waiting:g} s "
        "of waiting for others. It ends with status 76, that the others can go on. Mend what "
        "hangs, or give a larger longest_step. The threads are at:\n"
    )
    os.write(_STDERR, text.encode())
    faulthandler.dump_traceback(_STDERR)
    os._exit(EXIT_STEP_TOO_LONG)


def check_seconds(name: str, given: float | None) -> float | None:
    """Return a number of seconds, or None.

    Raises:
      TypeError: it is no number.
      ValueError: it is not above 0, or no finite one.
    """
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(
            f"run_elastic: {name}={given!r} is a {type(given).__name__}, expected a number of "
            "seconds. Leave it out for no limit."
        )
    if not 0 < given < math.inf:
        raise ValueError(
            f"run_elastic: {name}={given}, expected seconds above 0. Leave it out for no limit."
        )
    return float(given)
