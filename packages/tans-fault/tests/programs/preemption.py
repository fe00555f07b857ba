"""Steps until the preemption sync point; process 0 writes the checkpoint."""

import sys
import threading
from pathlib import Path

from joining import ID, join, say, total

import tans
from tans_fault import distributed, multihost_utils

join()
pause = threading.Event()
step = 0
while True:
    total(tans.devices(), 1.0)
    say("step", step)
    if multihost_utils.reached_preemption_sync_point(step):
        break
    step += 1
    pause.wait(0.05)
say("stopped at", step)
if ID == 0:
    with (Path(sys.argv[1]) / "checkpoint").open("x") as file:
        file.write(str(step))
distributed.shutdown()
