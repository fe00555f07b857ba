"""An elastic loop without end, that stops at SIGTERM."""

import sys
import threading

import numpy as np
from joining import say, total

import tans_fault
from tans_fault import distributed

distributed.initialize(initialization_timeout=60)
pause = threading.Event()


def step(info, state):
    pause.wait(0.05)
    return state + total(info.devices, 1.0)


def observe(report):
    say(report.event, report.step)
    if report.event == "stop":
        say("stopped after", report.step)


checkpoints = tans_fault.Checkpoints(sys.argv[1])
tans_fault.run_elastic(
    step, np.zeros(2), steps=10**6, checkpoints=checkpoints, every=10**6, observe=observe
)
