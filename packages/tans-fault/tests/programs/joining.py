"""What all programs of the tests begin with."""

import json
import os
import sys

import numpy as np

import tans
from tans_fault import distributed

ID = int(os.environ.get("TANS_TEST_ID", "0"))
COUNT = int(os.environ.get("TANS_TEST_COUNT", "1"))


def say(*words):
    """Write one line with one write."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def join(**options):
    """Join the job of the test."""
    standalone = os.environ["TANS_TEST_STANDALONE"]
    given = {
        "coordinator_address": os.environ["TANS_TEST_ADDRESS"],
        "num_processes": COUNT,
        "process_id": ID,
        "initialization_timeout": int(os.environ.get("TANS_TEST_START_SECONDS", "60")),
        "heartbeat_timeout_seconds": int(os.environ.get("TANS_TEST_HEARTBEAT", "4")),
        "shutdown_timeout_seconds": 30,
        "collective_timeout_seconds": int(os.environ.get("TANS_TEST_COLLECTIVE", "6")),
        "start_service": False if standalone else None,
    }
    given |= json.loads(os.environ.get("TANS_TEST_OPTIONS", "{}"))
    distributed.initialize(**(given | options))
    say("joined", ID)


def wait_for_go():
    """Wait for the end of standard input, or a line."""
    sys.stdin.readline()


def total(devices, value):
    """Return the sum of `value` over processes, by an all-reduce over `devices`."""
    mesh = tans.make_mesh((len(devices),), ("i",), devices=devices)
    split, whole = tans.P("i"), tans.P()
    pieces = tans.make_array_from_callback(
        (len(devices),),
        tans.NamedSharding(mesh, split),
        lambda index: np.full(1, value, np.float32),
        dtype="float32",
    )
    summed = tans.shard_map(
        lambda x: tans.lax.psum(x, "i"), mesh=mesh, in_specs=split, out_specs=whole
    )
    return float(tans.block_until_ready(tans.jit(summed)(pieces))[0])
