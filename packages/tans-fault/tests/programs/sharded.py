"""An elastic loop whose state is spread over the processes; arguments: steps, folder.

``w`` is split over the mesh, ``n`` is on all. Each step halves ``w`` and adds 12 and the number of
its row; the rows of this process are compared with what they must be.
"""

import sys
import threading

import numpy as np
from joining import ID, join, say

import tans
import tans.numpy as jnp
from tans import P
from tans_fault import ShardedCheckpoints, distributed, run_elastic

STEPS, FOLDER = int(sys.argv[1]), sys.argv[2]
ROWS = 12
pause = threading.Event()


def expected(steps):
    rows = np.arange(ROWS, dtype=np.float32)[:, None] * np.ones(3, np.float32)
    w = np.ones((ROWS, 3), np.float32)
    for _ in range(steps):
        w = w * np.float32(0.5) + 12 + rows
    return w


def first(info):
    split, whole = (tans.NamedSharding(info.mesh, spec) for spec in (P("data"), P()))
    w, n = np.ones((ROWS, 3), np.float32), np.zeros((), np.int32)
    return {
        "w": tans.make_array_from_callback(w.shape, split, w.__getitem__),
        "n": tans.make_array_from_callback((), whole, lambda _: n),
    }


@tans.jit
def update(state):
    rows = jnp.arange(ROWS, dtype=jnp.float32, out_sharding=P("data"))
    total = jnp.sum(state["w"])  # over all processes
    return {"w": state["w"] * 0.5 + 12 + rows[:, None], "n": state["n"] + 1}, total


def step(info, state):
    pause.wait(0.03)
    with tans.set_mesh(info.mesh):
        state, total = update(state)
        tans.block_until_ready(total)
    return state


def observe(report):
    state = report.state
    if report.event in ("step", "synced"):
        held = state["w"].addressable_shards
        assert int(state["n"].addressable_data(0)) == report.step
        for shard in held:
            np.testing.assert_array_equal(shard.data, expected(report.step)[shard.index])
        say(f"{report.event} {report.step} alive {list(report.alive)} holds {held[0].data.shape}")
    else:
        say(f"{report.event} {report.step} alive {list(report.alive)}")


join()
final = run_elastic(
    step, first, steps=STEPS, checkpoints=ShardedCheckpoints(FOLDER), every=4, observe=observe
)
for shard in final["w"].addressable_shards:
    np.testing.assert_array_equal(shard.data, expected(STEPS)[shard.index])
say("final", int(final["n"].addressable_data(0)))
distributed.shutdown()
say("done", ID)
