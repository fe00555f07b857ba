"""Indexing and ``.at`` against NumPy, on random indices; eager, traced and batched agree."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tans_numpy as jnp
from tans_batching import vmap
from tans_xla import jit

LAWS = settings(max_examples=20, deadline=None)
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@st.composite
def slices(draw, n):
    bound = st.none() | st.integers(-n - 2, n + 2)
    step = draw(st.sampled_from([None, 1, 2, -1, -2, 3]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def indexed(draw):
    """Draw an array and a NumPy index that is in bounds."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    common = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    index, d = [], 0
    while d < len(shape):
        n = shape[d]
        kind = draw(
            st.sampled_from(["int", "slice", "slice", "array", "mask", "none", "true", "stop"])
        )
        if kind == "int":
            index.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            index.append(draw(slices(n)))
        elif kind == "array":
            dims = [m if rng.integers(2) else 1 for m in common][rng.integers(len(common)) :]
            index.append(rng.integers(-n, n, dims).astype(np.int32))
        elif kind == "mask":
            mask = rng.integers(0, 2, n).astype(bool)
            assume(mask.sum() in (1, *common[-1:]))
            index.append(mask)
        elif kind == "none":
            index.append(None)
            continue
        elif kind == "true":
            index.append(bool(rng.integers(2)))
            continue
        else:
            break
        d += 1
    if draw(st.booleans()):
        index.insert(draw(st.integers(0, len(index))), Ellipsis)
    index = tuple(index)
    try:
        x[index]
    except IndexError:
        assume(False)
    return x, index


def as_arrays(index):
    return tuple(jnp.asarray(e) if isinstance(e, np.ndarray) else e for e in index)


@given(indexed())
@LAWS
def test_getitem_equals_numpy(case):
    x, index = case
    expected = x[index]
    array = jnp.asarray(x)
    for out in (array[index], array[as_arrays(index)], jit(lambda x: x[index])(array)):
        assert out.shape == expected.shape
        np.testing.assert_array_equal(out, expected)


@given(indexed())
@LAWS
def test_getitem_with_traced_integers_equals_numpy(case):
    x, index = case
    numbers = [
        e for e in index if type(e) is int or (isinstance(e, np.ndarray) and e.dtype != bool)
    ]

    def fun(x, numbers):
        rest = iter(numbers)
        traced = [
            next(rest) if type(e) is int or (isinstance(e, np.ndarray) and e.dtype != bool) else e
            for e in index
        ]
        return x[tuple(traced)]

    expected = x[index]
    out = jit(fun)(x, numbers)
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out, expected)


@given(indexed(), st.sampled_from(sorted(UFUNCS)), st.booleans())
@LAWS
def test_update_equals_numpy(case, method, scalar):
    x, index = case
    shape = x[index].shape
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    values = np.float32(3) if scalar else values
    expected = x.copy()
    UFUNCS[method].at(expected, index, values)
    array = jnp.asarray(x)
    eager = getattr(array.at[index], method)(values)
    traced = jit(lambda x, v: getattr(x.at[index], method)(v))(array, values)
    np.testing.assert_array_equal(eager, expected)
    np.testing.assert_array_equal(traced, expected)


@given(indexed())
@LAWS
def test_set_equals_numpy(case):
    x, index = case
    expected = x.copy()
    expected[index] = -1
    array = jnp.asarray(x)
    np.testing.assert_array_equal(array.at[index].set(-1.0), expected)
    values = np.full(x[index].shape, -1, np.float32)
    np.testing.assert_array_equal(jit(lambda x: x.at[index].set(values))(array), expected)


@given(indexed(), st.booleans())
@LAWS
def test_vmap_equals_loop(case, of_update):
    x, index = case
    xs = np.stack([x, x * 2 + 1])

    def fun(x):
        return x.at[index].add(1.0) if of_update else x[index]

    out = vmap(fun)(jnp.asarray(xs))
    for k in range(2):
        np.testing.assert_array_equal(out[k], fun(jnp.asarray(xs[k])))


@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("fun", ["get", "get_array", "set", "add_array", "column"])
def test_vmap_over_index_and_array_equals_loop(fun, mapped):
    functions = {
        "get": lambda x, i: x[i[0]],
        "get_array": lambda x, i: x[i],
        "set": lambda x, i: x.at[i[0]].set(-1.0),
        "add_array": lambda x, i: x.at[i, 1].add(2.0),
        "column": lambda x, i: x[:, i[1]],
    }
    xs = jnp.arange(24.0).reshape(2, 4, 3)
    indices = jnp.array([[0, 2], [3, 1]]) % (3 if fun == "column" else 4)
    args = [a if m == 0 else a[0] for a, m in zip((xs, indices), mapped, strict=True)]
    out = vmap(functions[fun], in_axes=mapped)(*args)
    for k in range(2):
        row = [a[k] if m == 0 else a for a, m in zip(args, mapped, strict=True)]
        np.testing.assert_array_equal(out[k], functions[fun](*row))


def test_vmap_over_no_indices_of_an_empty_array():
    empty, none = jnp.zeros(0), jnp.zeros(0, int)
    for fun in (
        lambda i: empty[i],
        lambda i: empty.at[i].set(1.0),
        lambda i: empty[i[None]],
        lambda i: jnp.take(empty, i),
    ):
        out = vmap(fun)(none)
        assert out.shape[0] == 0
    assert jit(vmap(lambda i: empty[i]))(none).shape == (0,)


def test_vmap_over_indices_of_an_empty_array_raises():
    with pytest.raises(IndexError, match="size 0"):
        vmap(lambda i: jnp.zeros(0)[i])(jnp.zeros(3, int))
