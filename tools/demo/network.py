"""The network, its loss and its training step, for any placement of the weights.

The batch is split over the mesh axis ``data``. Weights are *replicated* or *reduced*: equal copies
on all devices in both cases, and the same numbers come out. The difference is the type of the
gradient. That of a replicated weight is replicated too, so each product of the backward pass sums
over the devices at once: for each layer, in each micro-batch. That of a reduced weight is
*unreduced*, a sum that has not been taken yet; the program takes it once, after the last
micro-batch, with `reshard`.
"""

from typing import Any, NamedTuple

import numpy as np

import tans
import tans.numpy as jnp
from tans import P, lax, random

type Params = dict[str, Any]

PIXELS, WIDTH, LAYERS, CLASSES = 64, 128, 3, 10
BATCH, MICRO_BATCHES = 64, 4
RATE, DECAY = 2e-3, 2e-2
AXIS = "data"


class State(NamedTuple):
    """Parameters, and Adam's running means of gradients and of their squares."""

    params: Params
    mean: Params
    square: Params
    step: Any


def init(key: Any) -> State:
    """Return weights with the variance that keeps activations in range, and a fresh optimizer."""
    keys = random.split(key, 3)
    params = {
        "in": random.normal(keys[0], (PIXELS, WIDTH)) / np.sqrt(PIXELS),
        "layers": random.normal(keys[1], (LAYERS, WIDTH, WIDTH)) / np.sqrt(WIDTH),
        "out": random.normal(keys[2], (WIDTH, CLASSES)) / np.sqrt(WIDTH),
    }
    zeros = tans.tree.map(jnp.zeros_like, params)
    return State(params, zeros, zeros, jnp.int32(0))


def logits(params: Params, x: Any) -> Any:
    """Return scores [..., 10] of images [..., 64]."""

    def layer(x: Any, w: Any) -> tuple[Any, None]:
        return x + jnp.tanh(x @ w), None

    x, _ = lax.scan(layer, jnp.tanh(x @ params["in"]), params["layers"])
    return x @ params["out"]


def losses(params: Params, x: Any, y: Any) -> Any:
    """Return the cross entropy of each image: x [..., 64] and one-hot labels y [..., 10]."""
    scores = logits(params, x)
    largest = lax.stop_gradient(scores.max(-1, keepdims=True))
    log_total = jnp.log(jnp.exp(scores - largest).sum(-1)) + largest.squeeze(-1)
    return log_total - (scores * y).sum(-1)


def update(state: State, batch: tuple[Any, Any], weights: P) -> tuple[State, Any]:
    """Take one step of Adam with decoupled weight decay, and gradients from micro-batches.

    Args:
      state: replicated.
      batch: images [micro-batches, size, 64] and one-hot labels [micro-batches, size, 10], of which
        the second dimension is split over the devices.
      weights: ``P()`` for replicated weights, ``P(reduced={"data"})`` for reduced ones.

    Returns:
      The next state, and the mean loss.
    """
    gradients = weights.to_cotangent()
    params = tans.tree.map(lambda p: tans.reshard(p, weights), state.params)

    def total(params: Params, x: Any, y: Any) -> tuple[Any, Any]:
        each = losses(params, x, y)
        return lax.reduce_sum(each, (0,), out_sharding=P(unreduced={AXIS})), each

    def micro_batch(sums: Any, xy: tuple[Any, Any]) -> tuple[Any, None]:
        grads, each = tans.grad(total, has_aux=True)(params, *xy)
        for grad in tans.tree.leaves(grads):  # types are known while tracing
            assert tans.typeof(grad).sharding.spec.unreduced == gradients.unreduced
        return tans.tree.map(jnp.add, sums, (grads, each)), None

    none_yet = tans.tree.map(lambda p: tans.reshard(jnp.zeros_like(p), gradients), params)
    no_loss = tans.reshard(jnp.zeros(batch[0].shape[1]), P(AXIS))
    (grads, each), _ = lax.scan(micro_batch, (none_yet, no_loss), batch)
    grads = tans.tree.map(lambda g: tans.reshard(g, P()) / BATCH, grads)
    return adam(state, grads), each.sum() / BATCH


def adam(state: State, grads: Params) -> State:
    """Return the state after one step along replicated gradients."""
    step = state.step + 1
    mean = tans.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = tans.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, state.square, grads)
    scale_m, scale_s = 1 / (1 - 0.9**step), 1 / (1 - 0.99**step)
    params = tans.tree.map(
        lambda p, m, s: p - RATE * (m * scale_m / (jnp.sqrt(s * scale_s) + 1e-8) + DECAY * p),
        state.params, mean, square,
    )  # fmt: skip
    return State(params, mean, square, step)


def micro_batches(x: Any, y: Any, rows: Any) -> tuple[Any, Any]:
    """Return the images and one-hot labels of one step, split over the devices."""
    rows = rows.reshape(MICRO_BATCHES, -1)
    placed = P(None, AXIS, None)
    return tans.reshard(x[rows], placed), tans.reshard(tans.nn.one_hot(y[rows], CLASSES), placed)


def run_epoch(state: State, key: Any, x: Any, y: Any, weights: P) -> tuple[State, Any]:
    """Train on all minibatches in random order; return the loss of each step."""
    count = x.shape[0] // BATCH
    order = random.permutation(key, x.shape[0])[: count * BATCH].reshape(count, BATCH)
    return lax.scan(lambda s, rows: update(s, micro_batches(x, y, rows), weights), state, order)


def accuracy(params: Params, x: Any, y: Any) -> Any:
    """Return the share of images that are read correctly."""
    return (jnp.argmax(logits(params, x), axis=-1) == y).mean()


def gradient_norms(params: Params, x: Any, y: Any) -> Any:
    """Return the norm of each image's own gradient, [n]."""
    grads = tans.vmap(tans.grad(losses), in_axes=(None, 0, 0))(
        params, x, tans.nn.one_hot(y, CLASSES)
    )
    squares = [jnp.sum(g.reshape(g.shape[0], -1) ** 2, axis=1) for g in tans.tree.leaves(grads)]
    return jnp.sqrt(sum(squares))
