"""An elastic loop that waits for a line at a place; arguments: PLACE:NTH or "-", steps, folder.

Places: connect (after the roll call), meet (a meeting of an epoch), client (making the client of
an epoch, after both meetings), save (writing a checkpoint, before its rename).
"""

import sys
import threading
from pathlib import Path

import numpy as np
from joining import ID, join, say, total

from tans_fault import Checkpoints, distributed, epochs, joining, run_elastic

place, _, nth = sys.argv[1].partition(":")
STEPS, FOLDER = int(sys.argv[2]), sys.argv[3]
PLACES = {
    "connect": (joining, "_connect"),
    "meet": (epochs, "meet"),
    "client": (epochs, "_make"),
    "save": (Path, "replace"),
}
pause = threading.Event()


def stop_there(owner, name, left):
    """Make a function wait at its n-th call."""
    function = getattr(owner, name)

    def waiting(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            say("at", place)
            sys.stdin.readline()
        return function(*arguments, **options)

    setattr(owner, name, waiting)


if place in PLACES:
    stop_there(*PLACES[place], int(nth))


def step(info, state):
    pause.wait(0.02)
    return state * 0.5 + total(info.devices, 12.0 / info.count)


def observe(report):
    say(f"{report.event} {report.step} alive {list(report.alive)} state {report.state[0]!r}")


say("starting", ID)
try:
    join()
except Exception as error:
    say(type(error).__name__, str(error).replace("\n", " "))
    sys.exit(1)
final = run_elastic(
    step, np.ones(2), steps=STEPS, checkpoints=Checkpoints(FOLDER), every=4, observe=observe
)
say("final", final.tolist())
distributed.shutdown()
