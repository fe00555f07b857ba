"""Saves ever larger steps until it is killed; arguments: "plain" or "orbax", folder.

Each state holds its step everywhere, so that a mixture of two is noticed. A line says each step
that is stored.
"""

import sys

import numpy as np
from joining import say

from tans_fault import Checkpoints, OrbaxCheckpoints

store = {"plain": Checkpoints, "orbax": OrbaxCheckpoints}[sys.argv[1]](sys.argv[2])
first = store.restore({"a": None, "b": [None, None]})
step = 0 if first is None else first[0]
while True:
    step += 1
    store.save(step, {"a": np.full(100_000, step), "b": [np.full(7, float(step)), np.int64(step)]})
    say("saved", step)
