"""Steps of a loop with `live_devices`, under control of the test through a file per step.

Arguments: number of steps; "elastic" state is kept on the host. Each step sums 1 over the live
processes; the weight grows by the sum. Lines: ``step N alive [...] weight W`` or
``failed {...} in S because ...``.
"""

import sys
import time

from joining import ID, join, say, total

import tans
from tans_fault import ProcessFailureError, distributed, live_devices

STEPS = int(sys.argv[1])

join()
weight, step = 0.0, 0
while step < STEPS:
    start = time.monotonic()
    try:
        with live_devices(tans.devices()) as alive:
            new = weight + total(alive, 1.0)
    except ProcessFailureError as error:
        ids = sorted(d.process_index for d in error.failed_devices)
        cause = type(error.__cause__).__name__
        say(f"failed {ids} after {time.monotonic() - start:.2f} because {cause} weight {weight}")
        continue
    weight, step = new, step + 1
    say(f"step {step} alive {[d.process_index for d in alive]} weight {weight}")
distributed.shutdown()
say("done", ID)
