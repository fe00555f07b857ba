"""Gradients that are added into a ref need less memory than a sum of values."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import tans
import tans.numpy as jnp
from tans import lax, new_ref

def loss(weights, x):
    return jnp.mean(lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, weights)[0] ** 2)

def as_value(total, weights, batches):
    step = lambda total, x: (total + tans.grad(loss)(weights, x), None)
    return lax.scan(step, total, batches)[0]

def in_ref(total, weights, batches):
    def step(_, x):
        tans.vjp(lambda w: loss(w, x), weights)[1].with_refs(total)(1.0)
        return None, None
    lax.scan(step, None, batches)

weights = jnp.full((16, 512, 512), 1e-3)
total, batches = jnp.zeros_like(weights), jnp.ones((4, 4, 512))
if sys.argv[1] == "ref":
    total = new_ref(total)
    compiled = tans.jit(in_ref).lower(total, weights, batches).compile()
else:
    compiled = tans.jit(as_value, donate_argnums=0).lower(total, weights, batches).compile()

def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024

with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # the peak starts anew
before = peak()
out = compiled(total, weights, batches)
tans.block_until_ready(total[0, 0] if out is None else out)
print((peak() - before) / weights.nbytes)
"""


def growth(kind: str) -> float:
    """Return how much one call raised the peak memory of a process, in sizes of the weights."""
    run = [sys.executable, "-c", PROGRAM, kind]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_peak_memory_of_a_process() -> None:
    # The value needs a whole gradient beside the sum, the ref that of one layer.
    assert growth("value") - growth("ref") > 0.7
