"""Batching of elementwise operations equals a Python loop."""

import itertools

import numpy as np
import pytest

import tans_batching as batching
import tans_lax as lax
from tans_xla import jit, make_jaxpr

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.uniform(0.5, 2, shape).astype(np.float32)


def loop(fn, args, dims, size):
    taken = [
        [a if d is None else np.take(a, i, d) for a, d in zip(args, dims, strict=True)]
        for i in range(size)
    ]
    return np.stack([np.asarray(fn(*each)) for each in taken])


def check(fn, args, dims):
    (size,) = {a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None}
    got = jit(batching.vmap(fn, dims))(*args)
    np.testing.assert_allclose(got, loop(jit(fn), args, dims, size), rtol=1e-6)


UNARY = (lax.sin, lax.neg, lax.is_finite, lax.stop_gradient, lambda x: lax.integer_pow(x, 3))


@pytest.mark.parametrize("dim", [0, 1])
def test_unary(dim):
    x = array(2, 3)
    run = jit(batching.vmap(lambda x: [fn(x) for fn in UNARY], dim))
    for fn, got in zip(UNARY, run(x), strict=True):
        np.testing.assert_allclose(got, loop(fn, (x,), (dim,), x.shape[dim]), rtol=1e-6)


BINARY_CASES = [
    ((2, 3), (2, 3), (0, 0)),
    ((2, 3), (3, 2), (0, 1)),
    ((2, 3), (3,), (0, None)),
    ((3,), (3, 2), (None, 1)),
    ((2, 3), (2,), (0, 0)),
    ((2,), (3, 2), (0, 1)),
    ((2, 3), (), (0, None)),
    ((2,), (3,), (0, None)),
    ((2,), (), (0, None)),
    ((2, 1, 4), (3, 4), (0, None)),
    ((1, 4, 2), (3, 4), (2, None)),
]


@pytest.mark.parametrize(("a", "b", "dims"), BINARY_CASES)
def test_binary(a, b, dims):
    check(lax.sub, (array(*a), array(*b)), dims)


@pytest.mark.parametrize("dims", [d for d in itertools.product((0, None), repeat=3) if any(
    x is not None for x in d)])  # fmt: skip
@pytest.mark.parametrize("scalar_which", [True, False])
def test_select(dims, scalar_which):
    which_shape = () if scalar_which else (3,)
    shapes = [which_shape, (3,), (3,)]
    args = [array(*((2, *s) if d == 0 else s)) for s, d in zip(shapes, dims, strict=True)]
    args[0] = args[0] > 1
    check(lax.select, tuple(args), dims)


def test_select_of_scalars():
    which = np.array([True, False])
    check(lax.select, (which, np.float32(1), np.float32(2)), (0, None, None))


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (0, 1, 0), (None, None, 0)])
def test_clamp(dims):
    low, high = (array(2) if d == 0 else array() for d in (dims[0], dims[2]))
    x = array(3) if dims[1] is None else array(3, 2)
    check(lax.clamp, (low, x, high + 1), dims)


def test_barrier():
    x, y = array(2, 3), array(4)
    got = batching.vmap(lax.optimization_barrier, ((0, None),))((x, y))
    assert got[0].shape == (2, 3)


def test_unmapped_operands_of_rank_0_stay_scalars():
    jaxpr = make_jaxpr(batching.vmap(lambda x: lax.mul(x, 2.0)))(array(3, 2))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
