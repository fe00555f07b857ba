"""Random nested programs: derivatives against differences, forward mode and compiled forms."""

import random

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_jvp,
    custom_vjp,
    grad,
    jvp,
    linearize,
    vjp,
)
from tans_batching import vmap
from tans_core.config import enable_x64
from tans_xla import jit

SIZE = 3
POLICIES = [
    None,
    checkpoint_policies.everything_saveable,
    checkpoint_policies.dots_saveable,
    checkpoint_policies.save_only_these_names("h"),
    checkpoint_policies.save_any_names_but_these("h"),
]


def total(x):
    return lax.reduce_sum(x, (0,))


def constant(value):
    return lax.full((SIZE,), value, np.float64)


LEAVES = [
    lambda w, x: lax.sin(x),
    lambda w, x: lax.tanh(lax.dot(w, x)),
    lambda w, x: lax.mul(x, lax.cos(lax.dot(x, w))),
    lambda w, x: lax.add(x, lax.exp(lax.neg(lax.square(x)))),
    lambda w, x: lax.mul(x, lax.logistic(total(x))),
    lambda w, x: lax.sub(lax.rev(x, (0,)), lax.mul(constant(0.3), lax.cumsum(x))),
    lambda w, x: lax.div(x, lax.add(constant(2.0), lax.square(x))),
    lambda w, x: checkpoint_name(lax.sin(lax.mul(constant(1.5), x)), "h"),
    lambda w, x: lax.dynamic_update_slice(x, lax.sin(lax.slice(x, (1,), (2,))), (0,)),
]


class Generator:
    """Makes functions ``f(w, x) -> x`` by nesting; the same seed gives the same function."""

    def __init__(self, seed, forward_mode):
        self.random = random.Random(seed)
        self.forward_mode = forward_mode
        self.makers = [
            self.sequence, self.scan, self.scan_outputs, self.cond, self.loop, self.jit,
            self.checkpoint, self.custom_jvp, self.vmap, self.transposed,
        ]  # fmt: skip
        if not forward_mode:
            self.makers.append(self.custom_vjp)

    def program(self, depth):
        if depth == 0 or self.random.random() < 0.15:
            return self.random.choice(LEAVES)
        return self.random.choice(self.makers)(depth - 1)

    def sequence(self, depth):
        f, g = self.program(depth), self.program(depth)
        return lambda w, x: g(w, lax.add(x, f(w, x)))

    def scan(self, depth):
        f, reverse = self.program(depth), self.random.random() < 0.5

        def step(w, carry, row):
            i, c = carry
            return (lax.add(i, 1), lax.mul(f(w, c), row)), None

        return lambda w, x: lax.scan(lambda c, row: step(w, c, row), (0, x), w, reverse=reverse)[0][
            1
        ]

    def scan_outputs(self, depth):
        f = self.program(depth)

        def g(w, x):
            _, ys = lax.scan(lambda c, _: (f(w, c), total(c)), x, None, length=SIZE)
            return ys

        return g

    def cond(self, depth):
        f, g = self.program(depth), self.program(depth)
        return lambda w, x: lax.cond(lax.gt(total(x), 0.123), f, g, w, x)

    def loop(self, depth):
        f = self.program(depth)
        return lambda w, x: lax.fori_loop(0, 2, lambda _, c: lax.mul(constant(0.5), f(w, c)), x)

    def jit(self, depth):
        return jit(self.program(depth))

    def checkpoint(self, depth):
        return checkpoint(self.program(depth), policy=self.random.choice(POLICIES))

    def custom_jvp(self, depth):
        f = self.program(depth)
        g = custom_jvp(f)
        g.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
        return g

    def custom_vjp(self, depth):
        f = self.program(depth)
        g = custom_vjp(f)
        g.defvjp(lambda w, x: vjp(f, w, x), lambda f_vjp, ct: f_vjp(ct))
        return g

    def vmap(self, depth):
        f = self.program(depth)
        return lambda w, x: total(vmap(f, (None, 0))(w, lax.add(w, lax.broadcast(x, (SIZE,)))))

    def transposed(self, depth):
        """Put a gradient inside the program."""
        f = self.program(depth)
        return lambda w, x: grad(lambda x: total(lax.mul(f(w, x), x)))(x)


def point(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) * 0.7 for s in [(SIZE, SIZE), (SIZE,), (SIZE, SIZE), (SIZE,)]]


def inner(a, b):
    return sum(float(np.vdot(np.asarray(x), np.asarray(y))) for x, y in zip(a, b, strict=True))


def check(seed, depth, forward_mode):
    f = Generator(seed, forward_mode).program(depth)
    w, x, w_dot, x_dot = point(seed)

    def loss(w, x):
        return total(lax.sin(f(w, x)))

    slope = jit(grad(loss, (0, 1)))
    compiled = jit(loss)

    def difference(g, e=1e-5):
        ahead = g(w + e * w_dot, x + e * x_dot)
        behind = g(w - e * w_dot, x - e * x_dot)
        return (float(ahead) - float(behind)) / (2 * e)

    found = slope(w, x)
    along = inner(found, (w_dot, x_dot))
    scale = 1e-6 * max(1.0, *(float(np.abs(np.asarray(g)).max()) for g in found))
    np.testing.assert_allclose(along, difference(compiled), rtol=1e-6, atol=scale)
    for a, b in zip(found, grad(loss, (0, 1))(w, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-6 * scale)
    if forward_mode:
        forward = jit(lambda w, x, *t: jvp(loss, (w, x), t)[1])(w, x, w_dot, x_dot)
        np.testing.assert_allclose(along, forward, rtol=1e-10, atol=1e-4 * scale)
        pushed = linearize(loss, w, x)[1](w_dot, x_dot)
        np.testing.assert_allclose(along, pushed, rtol=1e-10, atol=1e-4 * scale)
    second = jit(grad(lambda w, x: total(lax.mul(x_dot, grad(loss, 1)(w, x))), (0, 1)))(w, x)
    expected = difference(lambda w, x: inner([x_dot], [slope(w, x)[1]]))
    size = max(1.0, *(float(np.abs(np.asarray(g)).max()) for g in second))
    np.testing.assert_allclose(inner(second, (w_dot, x_dot)), expected, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("forward_mode", [True, False], ids=["both modes", "reverse mode"])
def test_derivatives_of_random_programs(seed, forward_mode):
    with enable_x64(True):
        check(seed + 1000 * forward_mode, 3, forward_mode)
