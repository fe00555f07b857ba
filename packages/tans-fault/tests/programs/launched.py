"""An elastic loop under the launcher; a worker may end itself once, as told by its arguments.

Arguments: folder of checkpoints, "WORKER:STEP:HOW" of the fault or "-". A file in the folder
remembers that the fault has happened.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
from joining import say, total

import tans
import tans_fault
from tans_fault import distributed
from tans_fault.coordination import state

folder, fault = Path(sys.argv[1]), sys.argv[2]
distributed.initialize(initialization_timeout=60)
me = tans.process_index()
say("here", me, state.num_processes)


def end_by_fault(step):
    worker, at, how = (fault + "::").split(":")[:3]
    mark = folder / "happened"
    if fault != "-" and me == int(worker) and step >= int(at) and not mark.exists():
        mark.touch()
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        say("waits at", step)
        threading.Event().wait()


began: list[int] = []


def step(info, state):
    if not began:
        began.append(info.index)
        say("begins with step", info.index)
    end_by_fault(info.index)
    return state + total(info.devices, 12.0 / info.count)


store = getattr(tans_fault, os.environ.get("TANS_TEST_STORE", "Checkpoints"))
final = tans_fault.run_elastic(step, np.zeros(2), steps=20, checkpoints=store(folder), every=4)
say("final", final.tolist())
