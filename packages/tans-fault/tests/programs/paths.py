"""Every way to a collective, after the other process was lost; each says what it raised."""

import numpy as np
from joining import ID, join, say, wait_for_go

import tans
from tans import P
from tans_fault import multihost_utils

join()
mesh = tans.make_mesh((2,), ("i",), devices=tans.devices())
split = tans.NamedSharding(mesh, P("i"))
x = tans.make_array_from_callback((2,), split, lambda _: np.ones(1, np.float32))


def summed(scale=1.0):
    whole = tans.shard_map(
        lambda x: scale * tans.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
    )
    return tans.block_until_ready(whole(x))


def program(x):
    return tans.lax.psum(x, "i")


cached = tans.jit(tans.shard_map(program, mesh=mesh, in_specs=P("i"), out_specs=P()))
compiled = cached.lower(x).compile()
summing = tans.jit(lambda x: x.sum(), out_shardings=tans.NamedSharding(mesh, P()))
PATHS = {
    "cached": lambda: tans.block_until_ready(cached(x)),
    "compiled": lambda: tans.block_until_ready(compiled(x)),
    "partitioned": lambda: tans.block_until_ready(summing(x)),
    "read": lambda: np.asarray(cached(x).addressable_data(0)),
    "number": lambda: float(cached(x)[0]),
    "device_get": lambda: tans.device_get(summing(x)),
    "gathered": lambda: multihost_utils.process_allgather(np.ones(1)),
    "gradient": lambda: tans.block_until_ready(
        tans.jit(tans.grad(lambda x: summing(x) * summing(x)))(x)
    ),
    "eager": summed,
}
for use in PATHS.values():
    use()
say("ready", ID)
wait_for_go()
for name, use in {**PATHS, "new": lambda: tans.jit(lambda: summed(2.0))()}.items():
    try:
        say(name, "gave", use())
    except Exception as error:
        say(name, "raised", type(error).__name__, type(error).__module__)
say("done")
