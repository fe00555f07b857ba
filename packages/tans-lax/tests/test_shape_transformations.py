"""Transposition and batching of operations that arrange, join and part arrays."""

import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_batching as batching
import tans_lax as lax
from tans_xla import jit

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape).astype(np.float32)


LINEAR = {
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), [(2, 3, 4)]),
    "reshape": (lambda x: lax.reshape(x, (6, 4)), [(2, 3, 4)]),
    "reshape permuted": (lambda x: lax.reshape(x, (8, 3), (2, 0, 1)), [(2, 3, 4)]),
    "rev": (lambda x: lax.rev(x, (0, 2)), [(2, 3, 4)]),
    "squeeze": (lambda x: lax.squeeze(x, (1,)), [(2, 1, 3)]),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (5, 2, 4, 3), (1, 2, 3)), [(2, 1, 3)]),
    "broadcast between": (lambda x: lax.broadcast_in_dim(x, (3, 5, 4), (0, 2)), [(3, 4)]),
    "broadcast of a scalar": (lambda x: lax.broadcast(x, (2, 3)), [()]),
    "broadcast of size 1": (lambda x: lax.broadcast_in_dim(x, (1, 1), (0, 1)), [(1, 1)]),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 1), [(2, 3), (2, 1)]),
    "stack": (lambda x, y: lax.stack([x, y, x], 1), [(2, 3), (2, 3)]),
    "unstack": (lambda x: lax.unstack(x, 1)[1], [(2, 3)]),
    "split": (lambda x: lax.split(x, (1, 0, 2), 1)[2], [(2, 3)]),
    "tile": (lambda x: lax.tile(x, (2, 3)), [(2, 3)]),
    "pad": (lambda x, v: lax.pad(x, v, ((1, 2, 1), (-1, 3, 0))), [(2, 3), ()]),
    "pad negative": (lambda x, v: lax.pad(x, v, ((-1, 2, 2), (3, -1, 2))), [(2, 3), ()]),
    "convert": (lambda x: lax.convert_element_type(x, np.float16), [(3,)]),
}


@pytest.mark.parametrize("name", LINEAR)
def test_transpose_satisfies_the_inner_product_identity(name):
    fn, shapes = LINEAR[name]
    xs = [array(*shape) for shape in shapes]

    @jit
    def run(*xs):
        y, pull = autodiff.vjp(fn, *xs)
        ct = lax.convert_element_type(lax.cos(lax.convert_element_type(y, np.float32)), y.dtype)
        return y, autodiff.jvp(fn, xs, xs)[1], ct, pull(ct)

    y, y_dot, ct, x_bars = run(*xs)
    np.testing.assert_array_equal(y, y_dot)
    left = np.vdot(np.asarray(ct, np.float64), np.asarray(y, np.float64))
    right = sum(np.vdot(np.asarray(b, np.float64), x) for b, x in zip(x_bars, xs, strict=True))
    np.testing.assert_allclose(left, right, rtol=3e-3 if name == "convert" else 1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_batching_equals_a_loop(name, dim):
    fn, shapes = LINEAR[name]
    dims = [min(dim, len(shape)) for shape in shapes]
    xs = [np.moveaxis(array(2, *shape), 0, d) for shape, d in zip(shapes, dims, strict=True)]
    got = jit(batching.vmap(fn, dims))(*xs)
    compiled = jit(fn)
    want = np.stack(
        [
            np.asarray(compiled(*(np.take(x, i, d) for x, d in zip(xs, dims, strict=True))))
            for i in range(2)
        ]
    )
    np.testing.assert_array_equal(got, want)


def test_batching_with_unmapped_operands():
    x, y = array(2, 3), array(4)
    got = batching.vmap(lambda a, b: lax.concatenate([a, b], 0), (0, None))(x, y)
    np.testing.assert_array_equal(got, np.concatenate([x, np.broadcast_to(y, (2, 4))], 1))
    got = batching.vmap(lambda a, v: lax.pad(a, v, ((1, 0, 0),)), (1, None))(x, np.float32(7))
    np.testing.assert_array_equal(got, np.pad(x.T, ((0, 0), (1, 0)), constant_values=7))
    got = batching.vmap(lambda a, v: lax.pad(a, v, ((1, 0, 0),)), (None, 0))(y, x[:, 0])
    assert got.shape == (2, 5)
    np.testing.assert_array_equal(np.asarray(got)[:, 0], x[:, 0])


def test_batching_of_creation_is_not_mapped():
    got = batching.vmap(lambda x: lax.add(x, lax.iota(np.float32, 3)))(np.zeros((2, 3), np.float32))
    assert got.tolist() == [[0, 1, 2]] * 2


def test_batching_of_parts_keeps_the_mapped_dimension():
    x = array(3, 4, 2)
    for dim in range(3):
        rest = [n for i, n in enumerate(x.shape) if i != dim]
        sizes = (1, rest[1] - 1)
        first, second = batching.vmap(lambda a: lax.split(a, sizes, 1), dim)(x)  # noqa: B023
        assert first.shape == (x.shape[dim], rest[0], 1)
        assert second.shape == (x.shape[dim], rest[0], rest[1] - 1)
        parts = batching.vmap(lambda a: lax.unstack(a, 0), dim)(x)
        assert len(parts) == rest[0]
        np.testing.assert_array_equal(parts[0], np.moveaxis(x, dim, 0)[:, 0])


def test_gradients_of_unused_parts_are_zero():
    x = array(2, 3)
    grad = autodiff.grad(lambda x: lax.reduce_sum(lax.split(x, (1, 2), 1)[0], (0, 1)))(x)
    assert grad.tolist() == [[1, 0, 0]] * 2
