"""Derivatives and vmap in programs for many sizes, against differences and loops of NumPy."""

import numpy as np
import pytest
from symbolic_programs import SIZES, Program, exported, gradient, same

import tans
import tans.numpy as jnp
from tans import lax

INT = np.int32
INDEXED = {"specs": ("a,b", "c"), "dtypes": (np.float32, INT)}


GRADIENTS = {
    "slices": same(lambda _, x: x[1:] * x[:-1]),
    "steps": same(lambda _, x: (x[::2], x[1::2], x[::-3])),
    "ints": same(lambda _, x: (x[-1], x[0, 1:])),
    "bounded": same(lambda _, x: (x[2:5], x[:, -3:])),
    "halves": same(lambda _, x: x[: x.shape[0] // 2] + x[x.shape[0] // 2 :], "2*a,b"),
    "concatenate": same(lambda n, x: n.concatenate([x, 2 * x[1:], x[:1]])),
    "stack": same(lambda n, x: n.stack([x, x * x], 1)),
    "split": same(lambda n, x: n.split(x * x, [1])),
    "gathered": same(lambda _, x, i: (x[i], x[i, 1:]), **INDEXED),
    "along": same(lambda n, x: n.take_along_axis(x, n.argsort(x, 1), 1) * n.arange(x.shape[1])),
    "updated": Program(
        lambda x, i: x.at[i].add(x[0]).at[1:].multiply(2.0),
        lambda x, i: (
            (x + np.sum(i == np.arange(len(x))[:, None], 1)[:, None] * x[0])
            * np.where(np.arange(len(x)) > 0, 2.0, 1.0)[:, None]
        ),
        **INDEXED,
    ),
    "padded": same(lambda n, x: n.pad(x, ((1, 2), (0, x.shape[0])))),
    "padded by less": Program(
        lambda x: lax.pad(x, 0.0, ((-1, 0, 0), (0, 1, 1))),
        lambda x: np.pad(np.insert(x[1:], range(1, x.shape[1]), 0, 1), ((0, 0), (0, 1))),
    ),
    "cumulative": same(lambda n, x: (n.cumsum(x, 0), n.cumsum(x))),
    "roll": same(lambda n, x: n.roll(x, 1, 0) * x),
    "sort": same(lambda n, x: n.sort(x, 0) * n.arange(x.shape[0])[:, None]),
    "sums": same(lambda n, x: (x.mean(0), x.std(), x.max(0))),
    "products": same(lambda n, x: (x @ x.T, n.einsum("ab,ac->bc", x, x), n.outer(x[0], x[:, 0]))),
    "shapes": same(lambda n, x: (x.reshape(-1), n.tile(x, (2, 1)), n.repeat(x, 2, 0), n.tril(x))),
    "broadcast": same(lambda n, x: (x + x[0], x * x[:, :1], n.broadcast_to(x, (2, *x.shape)))),
    "scan": Program(
        lambda x: lax.scan(lambda c, r: (c * r + 1, c), 1 + 0 * x[0], x),
        lambda x: scanned(x),
    ),
    "for each": Program(
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: jnp.sin(c) + x[i], 0 * x[0]),
        lambda x: folded(x),
    ),
    "cond": Program(
        lambda x: lax.cond(x.sum() > 0, lambda x: x[1:], lambda x: 2 * x[:-1], x),
        lambda x: x[1:] if x.sum() > 0 else 2 * x[:-1],
    ),
    "checkpoint": Program(tans.checkpoint(lambda x: jnp.sin(x)[1:]), lambda x: np.sin(x)[1:]),
    "softmax": Program(tans.nn.softmax, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "windows": Program(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
        lambda x: x[:, : x.shape[1] // 2 * 2].reshape(len(x), -1, 2).max(2),
    ),
    "convolution": Program(
        lambda x: lax.conv_general_dilated(x, jnp.ones((1, 1, 2)), (1,), [(0, 0)]),
        lambda x: x[:, :, 1:] + x[:, :, :-1],
        specs=("a,1,b",),
    ),
    "mapped": Program(tans.vmap(lambda r: r[1:] * r[:-1]), lambda x: x[:, 1:] * x[:, :-1]),
}


def scanned(x):
    carry, before = np.ones(x.shape[1]), []
    for row in x:
        before.append(carry)
        carry = carry * row + 1
    return carry, np.stack(before)


def folded(x):
    carry = np.zeros(x.shape[1])
    for row in x:
        carry = np.sin(carry) + row
    return carry


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_symbolic_programs(name):
    gradient(GRADIENTS[name]).check()


def mapped(fun, oracle, *specs, **options):
    """A program of functions of rows, mapped."""

    def loop(*args):
        results = [oracle(*row) for row in zip(*args, strict=True)]
        return tuple(map(np.stack, zip(*results, strict=True)))

    return Program(tans.vmap(fun), loop, specs or ("a,b",), **options)


STARTS = {"dtypes": (np.float32, INT)}
MAPS = {
    "slices": mapped(
        lambda r: (r[1:], r[::-2], r[-1], r[2:5]), lambda r: (r[1:], r[::-2], r[-1], r[2:5])
    ),
    "indices": mapped(
        lambda r, i: (r[i], r.at[i].set(0.0)),
        lambda r, i: (r[i], np.where(np.arange(len(r)) == i, 0, r)),
        "a,b", "a", **STARTS,
    ),
    "windows": mapped(
        lambda r, i: (
            lax.dynamic_slice(r, (i,), (r.shape[0] - 1,)),
            lax.dynamic_update_slice(r, r[:2], (i,)),
        ),
        lambda r, i: (r[i:][: len(r) - 1], np.concatenate([r[:i], r[:2], r[i + 2 :]])),
        "a,b", "a", **STARTS, constraints=["b >= 3"],
    ),
    "shapes": mapped(
        lambda r: (jnp.pad(r, 1), jnp.concatenate([r, r[:1]]), r / r.shape[0] + r.mean()),
        lambda r: (np.pad(r, 1), np.concatenate([r, r[:1]]), r / len(r) + r.mean()),
    ),
    "sorted": mapped(
        lambda r: (jnp.sort(r), jnp.cumsum(r), jnp.argmax(r)),
        lambda r: (np.sort(r), np.cumsum(r), np.argmax(r)),
    ),
    "loops": mapped(
        lambda r: (
            lax.scan(lambda c, v: (c + v, c), 0.0, r)[1],
            lax.cond(r[0] > 0, lambda r: r * 2, lambda r: r, r),
            lax.while_loop(lambda s: s[0] < r[0], lambda s: (s[0] + 0.5, s[1] * 2), (0.0, r))[1],
        ),
        lambda r: (
            np.cumsum(r) - r, r * 2 if r[0] > 0 else r, r * 2.0 ** np.ceil(max(r[0], 0) * 2)
        ),
    ),
    "gradients": mapped(
        lambda r: (tans.grad(lambda r: (r[1:] * r[:-1]).sum())(r),),
        lambda r: (np.pad(r[1:], (0, 1)) + np.pad(r[:-1], (1, 0)),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_maps_of_symbolic_programs(name):
    MAPS[name]._replace(sizes=[s | {"b": s["b"] + 1} for s in SIZES]).check()


def test_maps_over_two_symbolic_sizes():
    outer = tans.vmap(tans.vmap(lambda r, s: r * s, (None, 0)), (0, None))
    Program(outer, np.multiply.outer, ("a", "b"), types="f32[a,b]").check()


@pytest.mark.parametrize("jacobian", [tans.jacfwd, tans.jacrev])
def test_jacobians_of_symbolic_programs(jacobian):
    def oracle(v):
        n = len(v) - 1
        return np.eye(n, n + 1) * v[1:, None] + np.eye(n, n + 1, 1) * v[:-1, None]

    fun = jacobian(lambda v: v[1:] * v[:-1])
    Program(fun, oracle, ("a",), constraints=["a >= 2"], types="f32[a - 1,a]").check()


def test_second_derivatives_of_symbolic_programs():
    Program(
        tans.hessian(lambda v: jnp.sum(v[1:] ** 2 * v[:-1])),
        lambda v: (
            np.diag(np.pad(2 * v[:-1], (1, 0))) + np.diag(2 * v[1:], 1) + np.diag(2 * v[1:], -1)
        ),
        ("a",),
        constraints=["a >= 2"],
    ).check()


def test_backward_passes_of_symbolic_programs_are_kept():
    made = exported(lambda x, y: jnp.concatenate([x[1:], y]), "a,b", "c,b", vjp_order=1)
    for sizes in SIZES:
        x, y = np.ones((sizes["a"], 3), np.float32), np.ones((sizes["c"], 3), np.float32)
        x_bar, y_bar = tans.grad(lambda x, y: (made.call(x, y) ** 2).sum(), (0, 1))(x, y)
        np.testing.assert_array_equal(x_bar, 2 * (np.arange(len(x)) > 0)[:, None] * x)
        np.testing.assert_array_equal(y_bar, 2 * y)


def test_random_numbers_of_symbolic_shapes_are_those_of_known_ones():
    def fun(x):
        key = tans.random.key(7)
        first, second = tans.random.split(key)
        return (
            tans.random.normal(first, x.shape),
            tans.random.randint(second, (x.shape[1],), 0, 9),
            tans.random.key_data(tans.random.split(key, x.shape[0])),
            tans.random.uniform(tans.random.key(1, impl="rbg"), x.shape),
            tans.random.categorical(key, x),
            tans.random.choice(key, x.shape[1], (3,)),
        )

    made = exported(fun, "a,b")
    for sizes in SIZES:
        x = np.ones((sizes["a"], sizes["b"]), np.float32)
        for found, expected in zip(made.call(x), fun(x), strict=True):
            np.testing.assert_array_equal(found, expected)
