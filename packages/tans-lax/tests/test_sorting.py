"""Sorting and selection of the largest: values, derivatives, batching, errors."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.sorting import sort_p, top_k_p
from tans_xla import jit

DTYPES = ["float32", "bfloat16", "complex64", "int8", "uint32", "bool"]
SHAPES = [((0,), 0), ((1,), 0), ((7,), 0), ((2, 3, 5), 1), ((2, 3, 5), 2)]


def sample(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).kind in "biu":
        return rng.integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype)
    values = np.round(2 * rng.standard_normal(shape))
    if dtype == "complex64":
        values = values + 1j * np.round(2 * rng.standard_normal(shape))
    return np.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_equals_numpy(dtype):
    xs = [sample(shape, dtype) for shape, _ in SHAPES]
    pairs = list(zip(xs, (d for _, d in SHAPES), strict=True))
    outs = jit(lambda xs: [lax.sort(x, d) for x, (_, d) in zip(xs, pairs, strict=True)])(xs)
    for (x, dimension), out in zip(pairs, outs, strict=True):
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(out), np.sort(x, dimension))


def test_zeros_are_equal_and_nan_comes_last():
    x = np.array([0.0, -0.0, np.inf, -np.inf, -np.nan, np.nan, 1.0], np.float32)
    out = np.asarray(lax.sort(x))
    np.testing.assert_array_equal(out, [-np.inf, 0.0, -0.0, 1.0, np.inf, np.nan, np.nan])
    assert np.signbit(out[1:3]).tolist() == [False, True]
    z = np.array([1 + 2j, 1 - 1j, 0 + 5j], np.complex64)
    assert lax.sort(z).tolist() == [5j, 1 - 1j, 1 + 2j]


def test_several_keys_sort_lexicographically():
    a, b = sample((50,), "int8"), sample((50,), "float32", 1)
    values = np.arange(50)
    outs = lax.sort((a, b, values), num_keys=2)
    assert isinstance(outs, tuple)
    order = np.lexsort((b, a))
    for out, x in zip(outs, (a, b, values), strict=True):
        np.testing.assert_array_equal(out, x[order])


def test_stable_sort_keeps_the_order_of_equal_keys():
    keys = sample((3, 40), "int8")
    sorted_keys, places = lax.sort_key_val(keys, np.tile(np.arange(40), (3, 1)))
    np.testing.assert_array_equal(places, np.argsort(keys, 1, kind="stable"))
    np.testing.assert_array_equal(sorted_keys, np.sort(keys, 1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_top_k_equals_numpy(axis, dtype):
    x = sample((4, 6, 5), dtype)
    x = x if dtype == "bool" else np.abs(x)  # top_k orders -0.0 below 0.0
    values, indices = lax.top_k(x, 3, axis=axis)
    assert indices.dtype == np.int32
    wide = x.astype(np.float64)
    order = np.argsort(-wide, axis, kind="stable").take(range(3), axis)
    np.testing.assert_array_equal(np.asarray(indices), order)
    np.testing.assert_array_equal(np.asarray(values), np.take_along_axis(x, order, axis))


def test_top_k_counts_nan_as_largest_and_returns_a_list():
    out = lax.top_k(np.array([3.0, np.nan, 1.0, 2.0], np.float32), 2)
    assert isinstance(out, list)
    np.testing.assert_array_equal(out[0], [np.nan, 3])
    assert out[1].tolist() == [1, 0]
    assert lax.top_k(np.ones((2, 3)), 0)[0].shape == (2, 0)


@pytest.mark.parametrize("dimension", [0, 1])
def test_derivatives_of_sort(check_derivatives, dimension):
    def both(keys, values):
        keys, values = lax.sort((keys, values), dimension)
        return lax.add(lax.mul(keys, keys), lax.sin(values))

    x = np.random.default_rng(0).standard_normal((3, 4))
    check_derivatives(both, x, x[::-1])


def test_derivatives_of_top_k(check_derivatives):
    x = np.random.default_rng(0).standard_normal((3, 5))
    check_derivatives(lambda x: lax.sin(lax.top_k(x, 2)[0]), x)
    check_derivatives(lambda x: lax.sin(lax.top_k(x, 2, axis=0)[0]), x)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_derivatives_of_nothing_to_sort(shape):
    import tans_autodiff as autodiff

    x = np.ones(shape, np.float32)
    for axis in range(len(shape)):
        for fn in (
            lambda x, axis=axis: lax.sort(x, dimension=axis),
            lambda x, axis=axis: lax.top_k(x, 0, axis=axis)[0],
        ):
            out, f_vjp = autodiff.vjp(fn, x)
            assert f_vjp(out)[0].shape == shape


def test_gradients_follow_the_stable_permutation():
    import tans_autodiff as autodiff

    _, pull = autodiff.vjp(lax.sort, np.array([2, 1, 1], np.float32))
    rows = [np.asarray(pull(row)[0]).tolist() for row in np.eye(3, dtype=np.float32)]
    assert rows == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]

    def two_largest(x):
        return lax.reduce_sum(lax.top_k(x, 2)[0], (0,))

    x = np.array([1, 3, 3, 2], np.float32)
    assert autodiff.grad(two_largest)(x).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("dims", [(0, None), (None, 1), (2, 0), (1, 1)])
def test_batching_of_sort_equals_a_loop(dims):
    keys, values = sample((3, 4, 5)), sample((3, 4, 5), seed=1)
    args = tuple(
        x[0] if d is None else np.moveaxis(x, 0, d)
        for x, d in zip((keys, values), dims, strict=True)
    )
    outs, out_dims = rules.batching[sort_p](
        AxisData(3), args, dims, dimension=1, is_stable=True, num_keys=1
    )
    each = [
        lax.sort((keys[0 if dims[0] is None else i], values[0 if dims[1] is None else i]), 1)
        for i in range(3)
    ]
    for out, dim, expected in zip(outs, out_dims, zip(*each, strict=True), strict=True):
        np.testing.assert_array_equal(np.moveaxis(np.asarray(out), dim, 0), np.stack(expected))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_batching_of_top_k_equals_a_loop(dim, axis):
    x = sample((3, 4, 5))
    outs, out_dims = rules.batching[top_k_p](
        AxisData(3), (np.moveaxis(x, 0, dim),), (dim,), k=2, axis=axis, is_stable=True
    )
    each = [lax.top_k(part, 2, axis=axis) for part in x]
    for out, out_dim, expected in zip(outs, out_dims, zip(*each, strict=True), strict=True):
        np.testing.assert_array_equal(np.moveaxis(np.asarray(out), out_dim, 0), np.stack(expected))
    # The last axis is searched where a mapped dimension behind it can go to the front instead.
    assert out_dims == ([0, 0] if dim == 2 and axis == 1 else [dim, dim])


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.sort(()), TypeError, ["no arrays"]),
        (lambda: lax.sort((np.ones(2), np.ones(2)), num_keys=3), ValueError, ["num_keys=3", "2"]),
        (lambda: lax.sort(np.ones(2), num_keys=0), ValueError, ["num_keys=0"]),
        (lambda: lax.sort((np.ones(2), np.ones(3))), TypeError, ["float32[2]", "float32[3]"]),
        (lambda: lax.sort(np.ones(2), 1), ValueError, ["axis 1"]),
        (lambda: lax.sort(1.0), ValueError, ["scalar"]),
        (lambda: lax.sort_key_val(np.ones((2, 3)), np.ones(3)), TypeError, ["float32[2,3]"]),
        (lambda: lax.top_k(np.ones(3), -1), ValueError, ["k=-1"]),
        (lambda: lax.top_k(np.ones((2, 3)), 4), ValueError, ["k=4", "float32[2,3]"]),
        (lambda: lax.top_k(np.ones(3) * 1j, 1), ValueError, ["complex64"]),
        (lambda: lax.top_k(1.0, 1), ValueError, ["scalar"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


def test_integers_are_compared_by_one_operation():
    text = jit(lax.sort).lower(np.ones(3, np.int32)).as_text()
    assert text.count("stablehlo.compare") == 1
    assert jit(lax.sort).lower(np.ones(3, np.float32)).as_text().count("TOTALORDER") == 1


def test_cotangents_go_to_places_that_are_known_to_differ():
    text = jit(grad(lambda x: lax.reduce_sum(lax.sin(lax.sort(x)), (0,)))).lower(np.ones(3))
    assert text.as_text().count("unique_indices = true") == 1
