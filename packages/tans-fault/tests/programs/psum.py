"""A sum over processes, and who is alive."""

from joining import ID, join, say, total

import tans
from tans_fault import distributed, live_devices

say("starting", ID)
join()
here = tans.process_index(), tans.process_count()
say("devices", len(tans.devices()), len(tans.local_devices()), *here)
with live_devices(tans.devices()) as alive:
    say("sum", total(alive, ID + 1.0))
say("alive", [d.id for d in alive])
distributed.shutdown()
say("done")
