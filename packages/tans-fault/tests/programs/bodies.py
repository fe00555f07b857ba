"""Steps whose body fails on some process; argument: what goes wrong at step 2, on process 1.

``bug``: an exception. ``partition``: the connections between the processes are cut.
"""

import sys

from cutting import cut_connections
from joining import ID, join, say, total

import tans
from tans_fault import ProcessFailureError, distributed, live_devices

join()


for step in range(4):
    try:
        with live_devices(tans.devices()) as alive:
            if step == 2 and ID == 1 and sys.argv[1] == "bug":
                raise KeyError("a local mistake")
            if step == 2 and ID == 1 and sys.argv[1] == "partition":
                cut_connections()
            say(f"step {step} sum {total(alive, 1.0)}")
    except ProcessFailureError as error:
        say("failed", error)
    except Exception as error:
        say(f"raised {type(error).__name__} {str(error).splitlines()[0][:90]}")
        break
say("end")
distributed.shutdown()  # process 0 waits: its end would take the coordinator from the other
