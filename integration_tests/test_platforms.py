"""The combined stack lowers for every platform, with or without its devices."""

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import lax, random

SHAPES = {"w1": (8, 16), "w2": (16, 4)}


def loss(params, key, x):
    """A program that touches every package: products, loops, branches, random bits, sorting."""
    h = jnp.tanh(x @ params["w1"])
    keep = random.bernoulli(key, 0.9, h.shape)
    h = jnp.where(keep, h, 0.0)

    def body(carry, row):
        carry = lax.cond(row[0] > 0, lambda c: c + row, lambda c: c * 0.5, carry)
        return carry, jnp.sort(carry)

    carry, rows = lax.scan(body, jnp.zeros(4), h @ params["w2"])
    return jnp.sum(rows**2) + jnp.linalg.norm(carry)


def arguments():
    rng = np.random.default_rng(0)
    params = {k: rng.normal(size=s).astype(np.float32) for k, s in SHAPES.items()}
    return params, random.key(0), rng.normal(size=(5, 8)).astype(np.float32)


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_a_training_step_lowers_for_each_platform(platform):
    step = tans.jit(tans.value_and_grad(loss))
    lowered = step.trace(*arguments()).lower(lowering_platforms=(platform,))
    text = lowered.as_text()
    assert "func.func public @main" in text
    assert text.count("stablehlo.while") == 2  # the loop and its transpose


def test_the_training_step_runs_on_the_default_device():
    params, key, x = arguments()
    step = tans.jit(tans.value_and_grad(loss))
    value, grads = step(params, key, x)
    direction = tans.tree.map(np.ones_like, params)
    eps = 1e-2

    def shifted(sign):
        moved = tans.tree.map(lambda p, d: p + sign * eps * d, params, direction)
        return float(loss(moved, key, x))

    slope = sum(float(jnp.sum(g)) for g in tans.tree.leaves(grads))
    assert np.isfinite(value)
    assert slope == pytest.approx((shifted(1) - shifted(-1)) / (2 * eps), rel=2e-2)


@pytest.mark.gpu
def test_the_training_step_runs_on_a_gpu():
    value, _ = tans.jit(tans.value_and_grad(loss))(*arguments())
    assert value.devices().pop().platform in ("gpu", "cuda", "rocm")


@pytest.mark.tpu
def test_the_training_step_runs_on_a_tpu():
    value, _ = tans.jit(tans.value_and_grad(loss))(*arguments())
    assert value.devices().pop().platform == "tpu"
