"""An elastic loop whose connections are cut in step 3; argument: "once" or "always"."""

import sys

import numpy as np
from cutting import cut_connections
from joining import ID, join, say, total

from tans_fault import run_elastic

join()
cuts = [1 if sys.argv[1] == "once" else 100]


def step(info, state):
    if info.index == 3:
        total(info.devices, 1.0)  # connects, also after the connections were made anew
        if ID == 1 and cuts[0]:
            cuts[0] -= 1
            cut_connections()
    return state + total(info.devices, 1.0)


def observe(report):
    say(report.event, report.step)


try:
    say("final", run_elastic(step, np.zeros(1), steps=8, observe=observe).tolist())
except Exception as error:
    say(type(error).__name__, str(error).splitlines()[0])
    sys.exit(1)
