"""Train a classifier of real handwritten digits, and draw what it learned.

The data are the 1,797 digits (8 x 8 pixels, 17 levels of grey) that scikit-learn ships. The program
shows the four transformations at work: `grad` for the gradients, `vmap` for one gradient per
example, `scan` over the minibatches of an epoch, and `jit` over all of it.
"""

import argparse
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tans
import tans.numpy as jnp
from tans import lax, random

mpl.use("Agg")
from matplotlib import pyplot as plt

type Params = list[dict[str, Any]]

SIZES = (64, 192, 96, 10)
BATCH = 64
RATE = 2e-3
DECAY = 2e-2


class Data(NamedTuple):
    """Images [n, 64] in [-1, 1] and labels [n], for training and for testing."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any


class State(NamedTuple):
    """Parameters, and Adam's running means of gradients and of their squares."""

    params: Params
    mean: Params
    square: Params
    step: Any


def load(seed: int) -> Data:
    """Return a stratified 80/20 split of the digits."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 8.0 - 1.0).astype(np.float32)
    labels = labels.astype(np.int32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=seed, stratify=labels
    )
    return Data(*map(jnp.asarray, (train_x, train_y, test_x, test_y)))


def init(key: Any) -> Params:
    """Return weights of variance 2 / fan-in and zero biases."""
    params = []
    for fan_in, fan_out in pairwise(SIZES):
        key, sub = random.split(key)
        weight = random.normal(sub, (fan_in, fan_out)) * np.sqrt(2 / fan_in)
        params.append({"w": weight, "b": jnp.zeros(fan_out)})
    return params


def logits(params: Params, x: Any) -> Any:
    """Return scores [..., 10] of images [..., 64]."""
    for layer in params[:-1]:
        x = jnp.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]


def example_loss(params: Params, x: Any, y: Any) -> Any:
    """Return the cross entropy of one image [64] and its label []."""
    scores = logits(params, x)
    largest = lax.stop_gradient(jnp.max(scores))
    log_total = largest + jnp.log(jnp.sum(jnp.exp(scores - largest)))
    return log_total - scores[y]


def loss(params: Params, x: Any, y: Any) -> Any:
    """Return the mean cross entropy of a batch."""
    return jnp.mean(tans.vmap(example_loss, in_axes=(None, 0, 0))(params, x, y))


def update(state: State, batch: tuple[Any, Any]) -> tuple[State, Any]:
    """Take one step of Adam with decoupled weight decay; return the loss."""
    value, grads = tans.value_and_grad(loss)(state.params, *batch)
    step = state.step + 1
    mean = tans.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = tans.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, state.square, grads)
    scale_m, scale_s = 1 / (1 - 0.9**step), 1 / (1 - 0.99**step)
    params = tans.tree.map(
        lambda p, m, s: p - RATE * (m * scale_m / (jnp.sqrt(s * scale_s) + 1e-8) + DECAY * p),
        state.params, mean, square,
    )  # fmt: skip
    return State(params, mean, square, step), value


@tans.jit
def run_epoch(state: State, key: Any, x: Any, y: Any) -> tuple[State, Any]:
    """Train on all minibatches in random order; return the mean loss."""
    count = x.shape[0] // BATCH
    order = random.permutation(key, x.shape[0])[: count * BATCH].reshape(count, BATCH)
    state, losses = lax.scan(lambda s, rows: update(s, (x[rows], y[rows])), state, order)
    return state, jnp.mean(losses)


@tans.jit
def accuracy(params: Params, x: Any, y: Any) -> Any:
    """Return the share of images that are read correctly."""
    return jnp.mean(jnp.argmax(logits(params, x), axis=-1) == y)


@tans.jit
def gradient_norms(params: Params, x: Any, y: Any) -> Any:
    """Return the norm of each example's own gradient, [n]."""
    grads = tans.vmap(tans.grad(example_loss), in_axes=(None, 0, 0))(params, x, y)
    squares = [jnp.sum(g.reshape(g.shape[0], -1) ** 2, axis=1) for g in tans.tree.leaves(grads)]
    return jnp.sqrt(sum(squares))


def train(seed: int, epochs: int, quiet: bool = False) -> tuple[Params, Data, dict[str, list]]:
    """Train with one seed; return the parameters, the data and the history."""
    data = load(seed)
    key, sub = random.split(random.key(seed))
    params = init(sub)
    zeros = tans.tree.map(jnp.zeros_like, params)
    state = State(params, zeros, zeros, jnp.int32(0))
    history: dict[str, list] = {"loss": [], "test": []}
    for epoch in range(epochs):
        key, sub = random.split(key)
        state, value = run_epoch(state, sub, data.train_x, data.train_y)
        score = accuracy(state.params, data.test_x, data.test_y)
        history["loss"].append(float(value))
        history["test"].append(float(score))
        if not quiet:
            bar = "#" * round(40 * (epoch + 1) / epochs)
            print(
                f"\r  epoch {epoch + 1:3d}/{epochs} [{bar:<40}] loss {float(value):.4f}  "
                f"test accuracy {float(score):.2%}",
                end="", flush=True,
            )  # fmt: skip
    if not quiet:
        print()
    return state.params, data, history


def draw_curve(history: dict[str, list], path: Path) -> None:
    """Save the learning curve."""
    figure, left = plt.subplots(figsize=(7, 4))
    epochs = range(1, len(history["loss"]) + 1)
    left.semilogy(epochs, history["loss"], color="tab:blue")
    left.set_xlabel("epoch")
    left.set_ylabel("training loss", color="tab:blue")
    right = left.twinx()
    right.plot(epochs, [100 * a for a in history["test"]], color="tab:orange")
    right.set_ylabel("test accuracy (%)", color="tab:orange")
    left.set_title("Handwritten digits, trained with Tans")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_errors(params: Params, data: Data, path: Path) -> int:
    """Save the test digits that are read wrongly; return how many there are."""
    read = np.asarray(jnp.argmax(logits(params, data.test_x), axis=-1))
    truth = np.asarray(data.test_y)
    norms = np.asarray(gradient_norms(params, data.test_x, data.test_y))
    wrong = np.flatnonzero(read != truth)
    shown = wrong[np.argsort(-norms[wrong])][:10]
    rows = max(1, -(-len(shown) // 5))
    figure, axes = plt.subplots(rows, 5, figsize=(8, 0.6 + 1.9 * rows), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, i in zip(axes.flat, shown, strict=False):
        axis.imshow(np.asarray(data.test_x)[i].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{truth[i]} read as {read[i]}\n|gradient| {norms[i]:.1f}", fontsize=9)
    figure.suptitle(f"{len(wrong)} of {len(truth)} test digits are read wrongly")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return len(wrong)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="folder for pictures")
    parser.add_argument("--require", type=float, default=0.0, help="least test accuracy (0 to 1)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    report = partial(print, flush=True)
    scores = []
    for seed in options.seeds:
        report(f"seed {seed}: training {SIZES} on {tans.devices()[0]}")
        params, data, history = train(seed, options.epochs)
        scores.append(history["test"][-1])
    draw_curve(history, options.out / "learning_curve.png")
    wrong = draw_errors(params, data, options.out / "wrongly_read.png")
    report(f"test accuracy: {', '.join(f'{s:.2%}' for s in scores)}; {wrong} digits read wrongly")
    report(f"pictures: {options.out / 'learning_curve.png'}, {options.out / 'wrongly_read.png'}")
    report(f"CPU time: {time.process_time() - start:.1f} s")
    if min(scores) < options.require:
        raise SystemExit(
            f"the least test accuracy is {min(scores):.2%}, expected at least "
            f"{options.require:.2%}. Train longer with --epochs."
        )


if __name__ == "__main__":
    main()
