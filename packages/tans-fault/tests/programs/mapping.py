"""`pmap` over the devices of two processes, two of each; what each of them gets."""

import numpy as np
from joining import ID, join, say

import tans
from tans import lax
from tans_fault import distributed

join()
X = np.arange(2.0, dtype=np.float32) + 10 * ID


def attempt(name, use):
    try:
        say(name, "gave", use())
    except Exception as error:
        say(name, type(error).__name__, str(error).replace("\n", " ")[:300])


def told(array):
    """Return what a process can say of a result."""
    return array.tolist(), len(array.sharding.device_set), array.is_fully_addressable


def summed(x):
    return lax.psum(x, "i")


mine, every = tans.local_devices(), tans.devices()
twice = tans.pmap(lambda x: 2 * x, "i")
keys = tans.random.split(tans.random.key(ID), 2)
drawn = tans.pmap(lambda key: tans.random.bits(key), "i")
split = tans.pmap(tans.random.fold_in, "i")
rows = X[:, None] + np.arange(3.0, dtype=np.float32)
attempt("sum", lambda: told(tans.pmap(summed, "i")(X)))
attempt("index", lambda: told(tans.pmap(lambda x: x + 100 * lax.axis_index("i"), "i")(X)))
attempt("chain", lambda: told(tans.pmap(summed, "i")(twice(X))))
attempt("whole", lambda: told(tans.pmap(summed, "i", out_axes=None)(X)))
attempt("column", lambda: told(tans.pmap(lambda x: x, "i", in_axes=1, out_axes=1)(rows.T)))
attempt("tree", lambda: told(tans.pmap(lambda a, b: a["x"] * b, in_axes=(0, None))({"x": X}, 2.0)))
attempt("keys", lambda: (drawn(keys) == tans.vmap(tans.random.bits)(keys)).tolist())
attempt("split", lambda: told(drawn(split(keys, np.arange(2, dtype=np.uint32))))[1:])
reverse = tans.pmap(lambda x: x + 100 * lax.axis_index("i"), "i", devices=every[::-1])
attempt("reverse", lambda: told(reverse(X)))
attempt("size", lambda: told(tans.pmap(summed, "i", axis_size=4)(X)))
attempt("within", lambda: told(tans.pmap(summed, "i", devices=mine)(X)))
attempt("lowered", lambda: "all_reduce" in tans.pmap(summed, "i").lower(X).as_text())
attempt("wrong", lambda: tans.pmap(summed, "i")(np.ones([1, 4][ID])))
attempt("part", lambda: tans.pmap(summed, "i", axis_size=2)(X))
attempt("traced", lambda: tans.jit(tans.pmap(summed, "i"))(X))
attempt("foreign", lambda: tans.pmap(summed, "i", devices=tans.local_devices(1 - ID))(X))
mesh = tans.make_mesh((4,), ("i",), devices=every)
spread = tans.make_array_from_process_local_data(tans.NamedSharding(mesh, tans.P("i")), X)
attempt("spread", lambda: tans.pmap(summed, "i")(spread))
distributed.shutdown()
say("done")
