"""Process 0, which takes the roll, holds Python's lock as soon as it knows of a loss."""

import ctypes
import runpy
import time
from pathlib import Path

from joining import COUNT, ID

from tans_fault.coordination import CoordinationClient

SECONDS = 40
ask = CoordinationClient.get_live_nodes


def ask_and_hold(self, processes):
    view = ask(self, processes)
    if len(view) < COUNT == len(processes):
        if ID == 0:
            ctypes.PyDLL(None).sleep(SECONDS)  # unlike CDLL it keeps the lock
        else:
            time.sleep(0.5)
    return view


CoordinationClient.get_live_nodes = ask_and_hold
runpy.run_path(str(Path(__file__).with_name("steps.py")), run_name="__main__")
