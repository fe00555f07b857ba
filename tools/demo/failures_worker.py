"""One worker of the demo of failures: trains on the digits with whoever is alive.

Arguments: folder for results, seed, epochs, and "PROCESS:STEP" to kill or "-". A worker kills
itself as a lost machine would, with SIGKILL, in its first life; the launcher replaces it later.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tans
import tans.numpy as jnp
from tans import P
from tans.fault import Checkpoints, Report, Step, run_elastic

BATCH, WIDTH, RATE, MOMENTUM = 96, 64, 0.05, 0.9  # 96 examples can be shared by 1, 2, 3 or 4
folder, seed, epochs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
victim, kill_at = (int(part) for part in f"{sys.argv[4]}:-1".replace("-:", "-1:").split(":")[:2])

images, labels = load_digits(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(
    (images / 8.0 - 1.0).astype(np.float32), labels, test_size=0.2, random_state=seed,
    stratify=labels,
)  # fmt: skip
STEPS_PER_EPOCH = len(train_x) // BATCH


def logits(params: Any, x: Any) -> Any:
    """Return scores [n, 10] of images [n, 64]."""
    return jnp.tanh(x @ params["in"]) @ params["out"]


def loss(params: Any, x: Any, y: Any) -> Any:
    """Return the mean cross entropy; y is one-hot, [n, 10]."""
    scores = logits(params, x)
    return jnp.mean(jnp.log(jnp.exp(scores).sum(-1)) - (scores * y).sum(-1))


@tans.jit
def update(state: Any, x: Any, y: Any) -> Any:
    """Take one step of gradient descent with momentum."""
    value, gradients = tans.value_and_grad(loss)(state["params"], x, y)
    speed = tans.tree.map(lambda v, g: MOMENTUM * v - RATE * g, state["speed"], gradients)
    params = tans.tree.map(jnp.add, state["params"], speed)
    return {"params": params, "speed": speed, "loss": value}


def batch(index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the examples of a step, the same whoever is alive."""
    epoch, part = divmod(index, STEPS_PER_EPOCH)
    order = np.random.default_rng((seed, epoch)).permutation(len(train_x))
    chosen = order[part * BATCH : (part + 1) * BATCH]
    return train_x[chosen], np.eye(10, dtype=np.float32)[train_y[chosen]]


def step(info: Step, state: Any) -> Any:
    """Train on the batch of this step, split over the live processes."""
    mark = folder / "killed"
    if tans.process_index() == victim and info.index == kill_at and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait(0.01)  # a larger model would take its time
    split, whole = (tans.NamedSharding(info.mesh, spec) for spec in (P("data"), P()))
    x, y = (
        tans.make_array_from_callback(part.shape, split, part.__getitem__)
        for part in batch(info.index)
    )
    with tans.set_mesh(info.mesh):
        return update(tans.device_put(state, whole), x, y)


def observe(report: Report) -> None:
    """Note who is alive, and the loss."""
    line = {"time": time.time(), "event": report.event, "step": report.step}
    line |= {"alive": report.alive, "loss": float(report.state["loss"])}
    log.write(json.dumps(line) + "\n")
    log.flush()


tans.distributed.initialize()
me = tans.process_index()
random = np.random.default_rng(seed)
params = {
    "in": (random.normal(size=(64, WIDTH)) / 8.0).astype(np.float32),
    "out": (random.normal(size=(WIDTH, 10)) / 8.0).astype(np.float32),
}
start = {"params": params, "speed": tans.tree.map(np.zeros_like, params), "loss": np.float32(2.3)}
with (folder / f"{me}-{os.getpid()}.jsonl").open("w") as log:
    log.write(json.dumps({"time": time.time(), "event": "start"}) + "\n")
    end = run_elastic(
        step,
        start,
        steps=epochs * STEPS_PER_EPOCH,
        checkpoints=Checkpoints(folder / "checkpoints"),
        every=5 * STEPS_PER_EPOCH,
        observe=observe,
    )
if me == 0:
    hidden = np.tanh(test_x @ end["params"]["in"])
    accuracy = float(np.mean((hidden @ end["params"]["out"]).argmax(-1) == test_y))
    (folder / "accuracy").write_text(str(accuracy))
