"""`pmap` in a job of several processes."""

import re


def test_pmap_maps_over_the_devices_of_all_processes(job):
    both = job(2).start_all("mapping", JAX_NUM_CPU_DEVICES="2")
    for me, process in enumerate(both):
        first, second = 10.0 * me, 10.0 * me + 1
        own = f"{2 * first}, {2 * second}"
        for line in (
            "sum gave ([22.0, 22.0], 2, True)",
            f"index gave ([{first + 200 * me}, {second + 200 * me + 100}], 2, True)",
            "chain gave ([44.0, 44.0], 2, True)",
            "whole gave (22.0, 2, True)",
            f"column gave ([[{first}, {second}], [{first + 1}, {second + 1}], "
            f"[{first + 2}, {second + 2}]], 2, True)",
            f"tree gave ([{own}], 2, True)",
            "keys gave [True, True]",
            "split gave (2, True)",
            # The last device is the first: this process's elements lie there in that order.
            f"reverse gave ([{first + 200 * (1 - me)}, {second + 200 * (1 - me) + 100}], 2, True)",
            "size gave ([22.0, 22.0], 2, True)",
            f"within gave ([{first + second}, {first + second}], 2, True)",
            "lowered gave True",
            f"wrong IndivisibleError pmap: given mapped axes of size {[1, 4][me]} and 4 devices of "
            "several processes, 2 of them of this one; expected size 2",
            "part ValueError pmap: given axis_size=2 and 4 devices of several processes, 2 of "
            "them of this one; expected axis_size=4",
            "traced ValueError pmap: given the traced argument",
            "foreign ValueError pmap: given 2 devices of several processes, 0 of them of this one",
            "spread ValueError pmap: given the spread argument",
        ):
            process.expect("^" + re.escape(line))
        process.expect("done")
        assert process.wait() == 0
