"""The functions of multihost_utils on two processes."""

import ml_dtypes
import numpy as np
from joining import ID, join, say

import tans
from tans import P
from tans_fault import distributed
from tans_fault import multihost_utils as m

join()


def attempt(name, use):
    try:
        say(name, "gave", use())
    except Exception as error:
        say(name, type(error).__name__, str(error).replace("\n", " ")[:300])


leaves = {
    "a": np.array([ID + 0.5, np.nan, -0.0]),
    "b": np.array(ID + 1, ml_dtypes.bfloat16),
    "c": np.array([ID == 0, True]),
    "d": np.zeros((0, 2), np.int8),
}
said = m.broadcast_one_to_all(leaves)
say("broadcast", said["a"].dtype, said["a"].tobytes().hex(), said["b"], said["c"], said["d"].shape)
attempt("source", lambda: m.broadcast_one_to_all(np.int32(ID), is_source=ID == 1))
attempt("stacked", lambda: m.process_allgather(np.array([ID, 7])).tolist())
attempt("scalars", lambda: m.process_allgather(np.float64(ID)).tolist())
attempt("tiled", lambda: m.process_allgather(np.array([ID, 7]), tiled=True).tolist())
attempt("sync", lambda: m.sync_global_devices("here"))
attempt("differs", lambda: m.sync_global_devices(f"name {ID}"))
attempt("equal", lambda: m.assert_equal({"x": np.arange(3)}, "x"))
attempt("unequal", lambda: m.assert_equal(np.int32(ID), "the step"))
mesh = tans.make_mesh((2,), ("i",))
whole = m.host_local_array_to_global_array(np.array([ID, ID + 10]), mesh, P("i"))
say("whole", whole.shape, whole.is_fully_addressable, whole.sharding.spec)
attempt("gathered", lambda: m.process_allgather(whole, tiled=True).tolist())
attempt("untiled", lambda: m.process_allgather(whole))
attempt("local", lambda: m.global_array_to_host_local_array(whole, mesh, P("i")).tolist())
attempt("nospec", lambda: m.host_local_array_to_global_array(np.ones(2), mesh, None))
to_global = lambda x: m.host_local_array_to_global_array(x, mesh, P("i"))  # noqa: E731
attempt("traced", lambda: tans.jit(to_global)(np.ones(2)))
made = tans.make_array_from_process_local_data(tans.NamedSharding(mesh, P("i")), np.full(3, ID))
say("made", made.shape, m.process_allgather(made, tiled=True).tolist())
attempt("reading", lambda: made.tolist())
attempt("shapes", lambda: m.process_allgather({"a": np.zeros(2 + ID)}))
attempt("dtypes", lambda: m.broadcast_one_to_all(np.zeros(2, [np.float32, np.int32][ID])))
attempt("trees", lambda: m.broadcast_one_to_all([{"a": 1.0}, {"b": 1.0}][ID]))
attempt("functions", lambda: [m.process_allgather, m.broadcast_one_to_all][ID](1.0))
attempt("sizes", lambda: m.assert_equal(np.zeros(2 + ID), "the weights"))
attempt("object", lambda: m.broadcast_one_to_all({"a": object()}))
attempt("foreign", lambda: m.process_allgather(1.0, devices=tans.local_devices(1 - ID)))
attempt("after", lambda: m.process_allgather(np.array(ID)).tolist())
attempt("preempted", lambda: m.reached_preemption_sync_point(0))
say("processes", tans.process_indices(), [d.id for d in tans.local_devices(1 - ID)])
distributed.shutdown()
say("done")
