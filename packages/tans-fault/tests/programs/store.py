"""The key-value store and `live_devices` in a job of one process."""

from joining import join, say

import tans
from tans_fault import live_devices, run_elastic
from tans_fault.coordination import CoordinationClient, connected_client, state


def attempt(name, use):
    try:
        say(name, "gave", use())
    except Exception as error:
        say(name, type(error).__name__, str(error).splitlines()[0])


class Untouchable:
    """A client that must not be reached before the connection."""

    def __getattr__(self, name):
        raise SystemExit(f"reached {name}")


early = CoordinationClient(Untouchable())
attempt("early", lambda: early.key_value_set("a", "b"))
attempt("alone", lambda: connected_client("x"))
join()
tans.config.update("jax_cpu_collectives_implementation", "megascale")
attempt("collectives", tans.devices)
tans.config.update("jax_cpu_collectives_implementation", "gloo")
attempt("again", join)
state.recoverable = False
attempt("unrecoverable", lambda: run_elastic(None, 0.0, steps=1))
state.recoverable = True
client = connected_client("store")
client.key_value_set("a/b", "1")
attempt("duplicate", lambda: client.key_value_set("a/b", "2"))
attempt("overwritten", lambda: client.key_value_set("a/b", "2", allow_overwrite=True))
attempt("missing", lambda: client.key_value_try_get("zz"))
attempt("late", lambda: client.blocking_key_value_get("zz", 300))
attempt("number", lambda: client.key_value_increment("n", 3) + client.key_value_increment("n", 4))
client.key_value_set_bytes("a/c", b"\0x")
attempt("bytes", lambda: client.key_value_try_get_bytes("a/c"))
attempt("folder", lambda: client.key_value_dir_get("a"))
client.key_value_delete("a")
attempt("deleted", lambda: client.key_value_dir_get("a"))
attempt("stranger", lambda: client.wait_at_barrier("q", 300, [0, 7]))
attempt("outsider", lambda: client.get_live_nodes([]))


def use(devices):
    with live_devices(devices) as alive:
        return alive


def fail():
    with live_devices(tans.devices()):
        raise KeyError("mine")


attempt("none", lambda: use([]))
attempt("live", lambda: use(tans.devices()))
attempt("body", fail)
say("remembered", live_devices.devices)
say("done")
