"""Train a classifier of real handwritten digits on eight devices, and show what it communicates.

The data are the 1,797 digits (8 x 8 pixels, 17 levels of grey) that scikit-learn ships. Each step
takes its gradient from four micro-batches, each of which is split over the devices. The program
trains twice with the same numbers: with *replicated* weights, whose gradients are summed over the
devices in each layer of each micro-batch, and with *reduced* ones, whose gradients are summed once
per step. It prints the communication of both steps, their times and their losses.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import network
import numpy as np
from network import AXIS, BATCH, LAYERS, MICRO_BATCHES, State
from pictures import draw_curve, draw_errors
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tans
import tans.numpy as jnp
from tans import P, random

DEVICES = 8
WEIGHTS = {"replicated": P(), "reduced": P(reduced={AXIS})}
report = partial(print, flush=True)


class Data(NamedTuple):
    """Images [n, 64] in [-1, 1] and labels [n], for training and for testing."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any


def load(seed: int) -> Data:
    """Return a stratified 80/20 split of the digits."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 8.0 - 1.0).astype(np.float32)
    labels = labels.astype(np.int32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=seed, stratify=labels
    )
    return Data(*map(jnp.asarray, (train_x, train_y, test_x, test_y)))


def show_progress(name: str, epoch: int, epochs: int, value: float, score: float) -> None:
    """Draw the progress bar of one epoch over that of the one before; in a file, some of them."""
    last = epoch + 1 == epochs
    on_terminal = sys.stdout.isatty()
    if not (on_terminal or last or (epoch + 1) % 10 == 0):
        return
    bar = "#" * round(30 * (epoch + 1) / epochs)
    print(
        f"{'\r' if on_terminal else ''}  {name:10} epoch {epoch + 1:3d}/{epochs} [{bar:<30}] "
        f"loss {value:.4f}  test accuracy {score:.2%}",
        end="" if on_terminal and not last else "\n", flush=True,
    )  # fmt: skip


def train(seed: int, epochs: int, name: str, data: Data) -> tuple[State, dict[str, list]]:
    """Train with one seed and kind of weights; return the state and the history."""
    run_epoch = tans.jit(partial(network.run_epoch, weights=WEIGHTS[name]))
    accuracy = tans.jit(network.accuracy)
    key, sub = random.split(random.key(seed))
    state = network.init(sub)
    history: dict[str, list] = {"loss": [], "test": [], "steps": []}
    for epoch in range(epochs):
        key, sub = random.split(key)
        state, losses = run_epoch(state, sub, data.train_x, data.train_y)
        score = float(accuracy(state.params, data.test_x, data.test_y))
        history["steps"] += losses.tolist()
        history["loss"].append(float(losses.mean()))
        history["test"].append(score)
        show_progress(name, epoch, epochs, history["loss"][-1], score)
    return state, history


def step_time(step: Any, state: State, batch: Any, repeats: int = 60) -> float:
    """Return the median time of a step in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        tans.block_until_ready(step(state, batch))
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def compare_steps(data: Data, out: Path) -> None:
    """Print what one step communicates with each kind of weights, and how long it takes."""
    state = network.init(random.key(0))
    batch = network.micro_batches(data.train_x, data.train_y, jnp.arange(BATCH))
    report(f"\none step: {MICRO_BATCHES} micro-batches around {LAYERS} hidden layers")
    for name, weights in WEIGHTS.items():
        step = tans.jit(partial(network.update, weights=weights))
        communication = step.lower(state, batch).compile().communication()
        path = out / f"communication_{name}.svg"
        path.write_text(communication.to_svg(), encoding="utf-8")
        report(f"\n{name} weights: {communication}")
        count = communication.executions("all-reduce")
        noun = "all-reduce" if count == 1 else "all-reduces"
        report(f"=> {count} {noun} per step, {step_time(step, state, batch):.2f} ms per step")


def compare_losses(histories: dict[str, dict[str, list]]) -> None:
    """Print the losses of both trainings, which differ by rounding at most."""
    a, b = (np.array(history["steps"]) for history in histories.values())
    report("\nlosses of the same training with replicated and with reduced weights:")
    for i in sorted({0, 1, 2, len(a) // 2, len(a) - 1}):
        report(f"  step {i + 1:4d}  {a[i]:.6f}  {b[i]:.6f}")
    largest = np.abs(a - b)[: len(a) // 10 + 1].max()
    report(f"  largest difference in the first tenth of the steps: {largest:.1e}")


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="folder for pictures")
    parser.add_argument("--require", type=float, default=0.0, help="least test accuracy (0 to 1)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    tans.config.update("jax_num_cpu_devices", DEVICES)
    count = 1 << (min(DEVICES, tans.device_count()).bit_length() - 1)
    mesh = tans.make_mesh((count,), (AXIS,))
    tans.set_mesh(mesh)
    report(f"data-parallel over {count} devices: {tans.devices()[0].platform}, {mesh}")
    compare_steps(load(0), options.out)
    scores = []
    for seed in options.seeds:
        report(f"\nseed {seed}: training")
        data = load(seed)
        found = {name: train(seed, options.epochs, name, data) for name in WEIGHTS}
        compare_losses({name: history for name, (_, history) in found.items()})
        state, history = found["reduced"]
        scores.append(history["test"][-1])
    draw_curve(history, options.out / "learning_curve.png")
    wrong = draw_errors(*predictions(state, data), options.out / "wrongly_read.png")
    report(f"\ntest accuracy: {', '.join(f'{s:.2%}' for s in scores)}; {wrong} digits read wrongly")
    report(f"pictures: {', '.join(sorted(str(p) for p in options.out.iterdir()))}")
    report(f"CPU time: {time.process_time() - start:.1f} s")
    if min(scores) < options.require:
        raise SystemExit(
            f"the least test accuracy is {min(scores):.2%}, expected at least "
            f"{options.require:.2%}. Train longer with --epochs."
        )


def predictions(state: State, data: Data) -> tuple[Any, ...]:
    """Return read digits, labels, images and gradient norms of the test set, as NumPy arrays."""
    read = jnp.argmax(network.logits(state.params, data.test_x), axis=-1)
    norms = tans.jit(network.gradient_norms)(state.params, data.test_x, data.test_y)
    return tuple(map(np.asarray, (read, data.test_y, data.test_x, norms)))


if __name__ == "__main__":
    main()
