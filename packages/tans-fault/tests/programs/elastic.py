"""An elastic loop whose state says which steps were applied, with what members.

Arguments: number of steps, folder of checkpoints or "-", seconds per step. Each step multiplies
the weight and adds the sum over processes of something that depends on the step and the position,
such that the result does not depend on who is alive. ``state`` lines hold a digest after each step.
"""

import sys
import threading
import zlib

import numpy as np
from joining import ID, join, say, total

import tans_fault
from tans_fault import distributed

STEPS, FOLDER, PAUSE = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
pause = threading.Event()


def step(info, state):
    parts = [i for i in range(12) if i % info.count == info.position]
    share = sum((info.index + 1.0) * (i + 1) for i in parts)
    pause.wait(PAUSE)
    summed = total(info.devices, share)
    return {
        "weight": state["weight"] * 0.5 + summed,
        "log": (state["log"] * 31 + info.index + 1) % 1000003,
    }


def observe(report):
    digest = zlib.crc32(report.state["weight"].tobytes() + report.state["log"].tobytes())
    say(f"{report.event} {report.step} alive {list(report.alive)} state {digest:08x}")


join()
checkpoints = None if FOLDER == "-" else tans_fault.Checkpoints(FOLDER)
initial = {"weight": np.full(3, 1.0), "log": np.zeros((), np.int64)}
final = tans_fault.run_elastic(
    step, initial, steps=STEPS, checkpoints=checkpoints, every=5, observe=observe
)
say(f"final {zlib.crc32(final['weight'].tobytes() + final['log'].tobytes()):08x}")
distributed.shutdown()
say("done", ID)
