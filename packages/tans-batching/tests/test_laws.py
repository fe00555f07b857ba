"""vmap equals a Python loop, for random shapes, axes and nestings over many operations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans_lax as lax
from tans_batching import vmap
from tans_xla import jit

UNARY = {
    "sin": lax.sin,
    "neg": lax.neg,
    "sum": lambda x: lax.reduce_sum(x, tuple(range(x.ndim))),
    "max of first": lambda x: lax.reduce_max(x, (0,)) if x.ndim else x,
    "transpose": lambda x: lax.transpose(x, tuple(reversed(range(x.ndim)))),
    "reshape": lambda x: lax.reshape(x, (x.size,)),
    "expand": lambda x: lax.expand_dims(x, (0,)),
    "convert": lambda x: lax.convert_element_type(x, np.int32),
    "broadcast": lambda x: lax.broadcast(x, (2,)),
    "concatenate": lambda x: lax.concatenate([x, x], 0) if x.ndim else x,
    "compare": lambda x: lax.gt(x, lax.full_like(x, 0)),
    "reverse": lambda x: lax.rev(x, tuple(range(x.ndim))),
    "pad": lambda x: lax.pad(x, np.float32(0), ((1, 0, 0),) * x.ndim),
    "slice": lambda x: lax.slice(x, (0,) * x.ndim, tuple(max(s - 1, 0) for s in x.shape)),
}
BINARY = {
    "add": lax.add,
    "mul": lax.mul,
    "sub": lax.sub,
    "max": lax.max,
    "atan2": lax.atan2,
    "select": lambda x, y: lax.select(lax.gt(x, y), x, y),
}
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def values(seed, shape):
    return np.asarray(np.random.RandomState(seed).randn(*shape), "float32")


def loop(fun, args, dims, size):
    """Apply `fun` element by element with NumPy slicing and line the results up in front."""
    parts = [
        fun(*(x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True)))
        for i in range(size)
    ]
    return np.stack([np.asarray(p) for p in parts])


@pytest.mark.parametrize("name", UNARY)
@given(shape=shapes, size=st.integers(1, 3), data=st.data())
@settings(max_examples=6, deadline=None)
def test_unary_operation(name, shape, size, data):
    dim = data.draw(st.integers(0, len(shape)))
    if name == "max of first" and shape[:1] == (0,):
        return
    x = values(0, (*shape[:dim], size, *shape[dim:]))
    found = vmap(UNARY[name], in_axes=dim)(x)
    np.testing.assert_allclose(found, loop(UNARY[name], [x], [dim], size), rtol=1e-6)


@pytest.mark.parametrize("name", BINARY)
@given(shape=shapes, size=st.integers(1, 3), data=st.data())
@settings(max_examples=6, deadline=None)
def test_binary_operation_with_any_operand_mapped(name, shape, size, data):
    axes = st.one_of(st.none(), st.integers(0, len(shape)))
    dims = [data.draw(axes), data.draw(axes)]
    if dims == [None, None]:
        dims[0] = 0
    args = [
        values(i, shape if d is None else (*shape[:d], size, *shape[d:]))
        for i, d in enumerate(dims)
    ]
    found = vmap(BINARY[name], in_axes=tuple(dims))(*args)
    np.testing.assert_allclose(found, loop(BINARY[name], args, dims, size), rtol=1e-6)


@given(n=st.integers(1, 3), m=st.integers(1, 3), shape=shapes)
@settings(max_examples=8, deadline=None)
def test_nested_maps(n, m, shape):
    def fun(x, y):
        return lax.mul(lax.sin(x), y)

    x, y = values(0, (n, *shape)), values(1, (m, *shape))
    found = vmap(vmap(fun, (None, 0)), (0, None))(x, y)
    expected = np.sin(x)[:, None] * y[None]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(jit(vmap(vmap(fun, (None, 0)), (0, None)))(x, y), found)


@given(shape=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)))
@settings(max_examples=8, deadline=None)
def test_order_of_nested_maps_is_order_of_axes(shape):
    x = values(0, shape)
    inner_last = vmap(vmap(lax.sin, 0), 0)(x)
    inner_first = vmap(vmap(lax.sin, 0, 0), 1, 1)(x)
    np.testing.assert_array_equal(inner_last, inner_first)


def test_pairwise_distances():
    points = values(0, (100, 3))

    def distance(p, q):
        d = lax.sub(p, q)
        return lax.sqrt(lax.reduce_sum(lax.mul(d, d), (0,)))

    found = vmap(vmap(distance, (None, 0)), (0, None))(points, points)
    expected = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert found.shape == (100, 100)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


LOOPS = {
    "scan": lambda x: lax.scan(
        lambda c, y: (lax.add(c, y), lax.mul(c, y)), x, np.ones((4, 3), "f")
    ),
    "while": lambda x: lax.while_loop(
        lambda c: lax.lt(lax.reduce_sum(c, (0,)), np.float32(50)),
        lambda c: lax.add(c, lax.full_like(c, 1)),
        x,
    ),
    "cond": lambda x: lax.cond(lax.gt(lax.reduce_sum(x, (0,)), np.float32(1)), lax.sin, lax.cos, x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_control_flow(name):
    fun = LOOPS[name]
    if not hasattr(lax, name if name != "while" else "while_loop"):
        pytest.skip(f"tans_lax has no {name} yet")
    x = values(3, (5, 3))
    found = vmap(fun)(x)
    rows = [fun(row) for row in x]
    if name == "scan":
        for part in range(2):
            expected = np.stack([np.asarray(row[part]) for row in rows])
            np.testing.assert_allclose(found[part], expected, rtol=1e-5)
    else:
        expected = np.stack([np.asarray(row) for row in rows])
        np.testing.assert_allclose(found, expected, rtol=1e-5)
