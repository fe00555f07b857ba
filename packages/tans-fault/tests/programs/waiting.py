"""Joins, and does what it is told on standard input, one line at a time."""

import sys
import time

from joining import ID, join, say, total

import tans
from tans_fault import distributed, live_devices, multihost_utils

join()
say("ready")
for line in sys.stdin:
    start = time.monotonic()
    match line.split():
        case ["alive"]:
            with live_devices(tans.devices()) as alive:
                pass
            say("alive", [d.process_index for d in alive])
        case ["sum"]:
            say("sum", total(tans.devices(), ID + 1.0))
        case ["gather"]:
            say("gather", multihost_utils.process_allgather(ID * 2.0).tolist())
        case ["shutdown"]:
            distributed.shutdown()
            say("left")
            break
    say(f"took {time.monotonic() - start:.2f}")
