"""A pipeline of 4 stages and 8 micro-batches, one forward one backward, from VJP objects."""

import functools

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, NotSaveable, fwd_and_bwd, grad, value_and_grad
from tans_core import tree
from tans_xla import device_put, jit

STAGES, MICRO_BATCHES, ROWS, WIDTH = 4, 8, 4, 8
f32 = np.float32


def stage(p, x):
    bias = lax.broadcast_in_dim(p["b"], (ROWS, 2 * WIDTH), (1,))
    return lax.add(x, lax.dot(lax.tanh(lax.add(lax.dot(x, p["w1"]), bias)), p["w2"]))


def loss(y, target):
    return lax.reduce_sum(lax.square(lax.sub(y, target)), (0, 1))


def normal(rng, *shape):
    return device_put(rng.normal(size=shape, scale=0.3).astype(f32))


def weights(rng):
    w1, w2 = normal(rng, WIDTH, 2 * WIDTH), normal(rng, 2 * WIDTH, WIDTH)
    return {"w1": w1, "b": normal(rng, 2 * WIDTH), "w2": w2}


def one_forward_one_backward(s):
    ahead = STAGES - 1 - s
    actions = [("F", m) for m in range(ahead)]
    for m in range(MICRO_BATCHES - ahead):
        actions += [("F", ahead + m), ("B", m)]
    return actions + [("B", m) for m in range(MICRO_BATCHES - ahead, MICRO_BATCHES)]


def one_micro_batch_at_a_time(s):
    return [(kind, m) for m in range(MICRO_BATCHES) for kind in "FB"]


class Pipeline:
    """Runs schedules; every stage does one action per tick, when its input has arrived."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.params = [weights(rng) for _ in range(STAGES)]
        self.inputs = [normal(rng, ROWS, WIDTH) for _ in range(MICRO_BATCHES)]
        self.targets = [normal(rng, ROWS, WIDTH) for _ in range(MICRO_BATCHES)]
        self.fwd, self.bwd = fwd_and_bwd(stage, (0, 1), saveable_args=(False, True))
        self.slope = jit(value_and_grad(loss))

    def forward(self, s, x):
        y, f_vjp = self.fwd(self.params[s], x)
        assert f_vjp.args_res[0] == {"w1": NotSaveable(), "b": NotNeeded(), "w2": NotSaveable()}
        return y, f_vjp

    def backward(self, s, f_vjp, ct):
        for name in ("w1", "w2"):
            f_vjp.args_res[0][name] = self.params[s][name]
        return self.bwd(f_vjp, ct)

    def run(self, schedule):
        """Return gradients per stage and the peak of saved bytes."""
        todo = [schedule(s) for s in range(STAGES)]
        arrived = {("F", 0, m): x for m, x in enumerate(self.inputs)}
        waiting, grads, peak = {}, [None] * STAGES, 0
        while any(todo):
            for s in range(STAGES):
                if not todo[s] or (todo[s][0][0], s, todo[s][0][1]) not in arrived:
                    continue
                kind, m = todo[s].pop(0)
                value = arrived.pop((kind, s, m))
                if kind == "F":
                    y, waiting[s, m] = self.forward(s, value)
                    last = s + 1 == STAGES
                    arrived["B" if last else "F", s if last else s + 1, m] = (
                        self.slope(y, self.targets[m])[1] if last else y
                    )
                else:
                    dp, dx = self.backward(s, waiting.pop((s, m)), value)
                    grads[s] = dp if grads[s] is None else tree.map(lax.add, grads[s], dp)
                    if s > 0:
                        arrived["B", s - 1, m] = dx
                peak = max(peak, sum(v.nbytes for v in waiting.values()))
        return grads, peak

    def whole(self, params):
        total = f32(0)
        for x, target in zip(self.inputs, self.targets, strict=True):
            total = lax.add(
                total, loss(functools.reduce(lambda x, p: stage(p, x), params, x), target)
            )
        return total


@pytest.fixture(scope="module")
def pipeline():
    return Pipeline()


@pytest.fixture(scope="module")
def scheduled(pipeline):
    return pipeline.run(one_forward_one_backward)


@pytest.fixture(scope="module")
def in_turn(pipeline):
    return pipeline.run(one_micro_batch_at_a_time)


def test_gradients_are_bitwise_those_of_one_micro_batch_at_a_time(scheduled, in_turn):
    tree.map(np.testing.assert_array_equal, scheduled[0], in_turn[0])


def test_gradients_are_those_of_the_whole_program(pipeline, scheduled):
    expected = jit(grad(pipeline.whole))(pipeline.params)
    for a, b in zip(tree.leaves(scheduled[0]), tree.leaves(expected), strict=True):
        scale = np.abs(np.asarray(b)).max()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * scale)


def test_each_pass_is_compiled_once(pipeline, scheduled, in_turn):
    assert pipeline.fwd._cache_size() == pipeline.bwd._cache_size() == 1


def test_peak_of_saved_bytes(pipeline, scheduled, in_turn):
    one = pipeline.forward(0, pipeline.inputs[0])[1].nbytes
    assert one == 4 * ROWS * (WIDTH + 2 * 2 * WIDTH)  # x, tanh and 1 - tanh**2
    assert in_turn[1] < scheduled[1] <= (4 + 3 + 2 + 1) * one
    assert in_turn[1] == STAGES * one
