"""take, put and their forms along an axis, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans_numpy as jnp
from tans_xla import jit, make_jaxpr

X = np.arange(5, dtype=np.int32)
M = np.arange(12, dtype=np.float32).reshape(4, 3)
LOWEST = -(2**31)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize(
    "indices", [1, np.array([2, 0]), np.array([[0], [1]]), np.array([], int)], ids=str
)
def test_take_equals_numpy(axis, indices):
    expected = np.take(M, indices, axis)
    for out in (
        jnp.take(jnp.asarray(M), indices, axis),
        jit(lambda m, i: jnp.take(m, i, axis))(M, indices),
    ):
        assert out.shape == expected.shape
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (None, [4, LOWEST, LOWEST]),
        ("fill", [4, LOWEST, LOWEST]),
        ("clip", [0, 0, 4]),
        ("wrap", [4, 3, 4]),
    ],
)
def test_modes_of_take(mode, expected):
    indices = np.array([-1, -7, 9])
    x = jnp.asarray(X)
    assert jnp.take(x, indices, mode=mode).tolist() == expected
    assert [int(jnp.take(x, k, mode=mode)) for k in indices] == expected
    assert jnp.take(x, np.uint8(3), mode=mode) == 3


def test_take_fills_with_a_value():
    assert jnp.take(jnp.asarray(M), np.array([7]), axis=0, fill_value=3).tolist() == [[3.0] * 3]


def test_take_is_one_gather_with_its_index_arithmetic():
    jaxpr = make_jaxpr(lambda m, i: jnp.take(m, i, axis=1))(M, np.array([0, 1], np.int32))
    assert [e.primitive.name for e in jaxpr.eqns] == [
        "lt",
        "add",
        "select_n",
        "broadcast_in_dim",
        "gather",
    ]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.take(M, [0, 1]), TypeError, "list"),
        (lambda: jnp.take([0, 1], 0), TypeError, "list"),
        (lambda: jnp.take(M, 1.0), ValueError, "integers"),
        (lambda: jnp.take(M, 1, axis=5), ValueError, "axis 5"),
        (lambda: jnp.take(M, 1, mode="raise"), NotImplementedError, "raise"),
        (lambda: jnp.take(M, 1, mode="promise_in_bounds"), ValueError, "promise"),
        (lambda: jnp.take(M, 1, out=M), NotImplementedError, "out"),
        (lambda: jnp.take(jnp.zeros(0), np.array([0])), IndexError, "size 0"),
        (lambda: jnp.take_along_axis(M, np.array([1]), 1), ValueError, "1 dimensions"),
        (lambda: jnp.take_along_axis(M, np.array([[1]]), None), ValueError, "axis=None"),
        (lambda: jnp.take_along_axis(M, np.array([[1.0]]), 1), TypeError, "integers"),
        (lambda: jnp.take_along_axis(M, np.ones((2, 2), int), 1), ValueError, "broadcast"),
        (lambda: jnp.take_along_axis(M, np.array([[1]]), 2), ValueError, "axis 2"),
        (lambda: jnp.take_along_axis(M, np.array([[1]]), 1, mode="wrap"), ValueError, "wrap"),
        (lambda: jnp.put_along_axis(M, np.array([[1]]), 9.0, 0), ValueError, "inplace"),
        (lambda: jnp.put(M, 0, 5), ValueError, "inplace"),
        (lambda: jnp.put(M, 7, 9.0, mode="raise", inplace=False), NotImplementedError, "raise"),
        (lambda: jnp.put(M, 7, 9.0, mode="fill", inplace=False), ValueError, "fill"),
        (lambda: jnp.put(M, 1.5, 9.0, inplace=False), TypeError, "integer"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@st.composite
def along_axis(draw):
    rank = draw(st.integers(1, 3))
    axis = draw(st.integers(0, rank - 1))
    shape = [draw(st.integers(1, 3)) for _ in range(rank)]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    index_shape = [
        draw(st.integers(1, 3)) if d == axis else draw(st.sampled_from([1, n]))
        for d, n in enumerate(shape)
    ]
    n = shape[axis]
    return rng.random(shape).astype(np.float32), rng.integers(-n, n, index_shape), axis


@given(along_axis())
@settings(max_examples=15, deadline=None)
def test_along_axis_equals_numpy(case):
    x, indices, axis = case
    expected = np.take_along_axis(x, indices, axis)
    np.testing.assert_array_equal(jnp.take_along_axis(x, indices, axis), expected)
    written = x.copy()
    np.put_along_axis(written, indices, -1, axis)
    out = jnp.put_along_axis(jnp.asarray(x), indices, -1.0, axis, inplace=False)
    np.testing.assert_array_equal(out, written)


def test_take_along_axis_out_of_bounds():
    m = jnp.asarray(M)
    index = np.array([[5]])
    assert np.isnan(jnp.take_along_axis(m, index, 1)).all()
    assert jnp.take_along_axis(m, index, 1, fill_value=-1).tolist() == [[-1.0]] * 4
    np.testing.assert_array_equal(jnp.take_along_axis(m, index, 1, mode="clip"), M[:, -1:])
    last = jnp.take_along_axis(m, np.array([[-1]]), 1, wrap_negative_indices=False)
    assert np.isnan(last).all()
    assert jnp.take_along_axis(m, np.array([-1]), None).tolist() == [11.0]


def test_take_along_axis_pairs_dimensions_instead_of_building_a_grid():
    jaxpr = make_jaxpr(lambda m, i: jnp.take_along_axis(m, i, 1))(M, np.zeros((4, 2), np.int32))
    assert len(jaxpr.eqns) <= 5


def test_put_equals_the_documented_results():
    x = jnp.asarray(X)
    assert jnp.put(x, np.array([7, -8]), 9, inplace=False).tolist() == [9, 1, 2, 3, 9]
    assert jnp.put(x, np.array([7, -8]), 9, mode="wrap", inplace=False).tolist() == [0, 1, 9, 3, 4]
    assert jnp.put(x, np.array([-1, 5]), 7, mode="clip", inplace=False).tolist() == [7, 1, 2, 3, 7]
    assert jnp.put(x, np.array([[0, 1]]), np.array([[7, 8]]), inplace=False).tolist()[:2] == [7, 8]
    assert jnp.put(x, np.array([0, 1]), np.array([7]), inplace=False).tolist()[:2] == [7, 7]
    assert jnp.put(x, np.array([0, 1]), np.array([]), inplace=False).tolist() == X.tolist()
    assert jnp.put(jnp.asarray(M), 11, 7.0, inplace=False)[3, 2] == 7.0
