"""Softmax and relatives, standardize, one_hot."""

import numpy as np
import pytest
from scipy import special

import tans_nn as nn
import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_batching import vmap
from tans_xla import make_jaxpr

RTOL = {"bfloat16": 3e-2, "float32": 2e-6, "float64": 1e-13}
FUNCTIONS = ["softmax", "log_softmax", "logsumexp"]


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_equal_scipy(name, dtype, x64):
    for shape, axis in [((4,), 0), ((3, 1), -1), ((2, 3, 4), 1), ((2, 3, 4), (0, 2)), ((), None)]:
        x = jnp.asarray(np.random.default_rng(0).normal(size=shape) * 5, dtype)
        expected = getattr(special, name)(np.asarray(x, np.float64), axis=axis)
        out = getattr(nn, name)(x, axis=axis)
        assert out.dtype == x.dtype
        np.testing.assert_allclose(
            np.asarray(out, np.float64), expected, rtol=RTOL[dtype], atol=RTOL[dtype]
        )


def test_large_and_infinite_exponents_do_not_overflow():
    x = jnp.array([1000.0, 1000.0, -np.inf])
    np.testing.assert_allclose(nn.softmax(x), [0.5, 0.5, 0])
    np.testing.assert_allclose(nn.logsumexp(x), 1000 + np.log(2), rtol=1e-7)
    assert nn.logsumexp(jnp.array([-np.inf, -np.inf])) == -np.inf
    assert nn.logsumexp(jnp.array([np.inf, 1.0])) == np.inf
    assert nn.logsumexp(jnp.zeros(0)) == -np.inf


def test_elements_left_out_count_as_if_absent():
    x, where = jnp.array([1.0, 500.0, 3.0]), jnp.array([True, False, True])
    kept = np.array([1.0, 3.0])
    np.testing.assert_allclose(nn.softmax(x, where=where)[::2], special.softmax(kept), rtol=1e-6)
    assert nn.softmax(x, where=where)[1] == 0
    np.testing.assert_allclose(
        nn.log_softmax(x, where=where)[::2], special.log_softmax(kept), rtol=1e-6
    )
    assert nn.log_softmax(x, where=where)[1] == -np.inf
    np.testing.assert_allclose(nn.logsumexp(x, where=where), special.logsumexp(kept), rtol=1e-6)
    np.testing.assert_allclose(
        nn.logmeanexp(x, where=where), np.log(np.exp(kept).mean()), rtol=1e-6
    )
    np.testing.assert_array_equal(nn.softmax(x, where=jnp.zeros(3, bool)), np.zeros(3))


def test_factors_of_logsumexp():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, -5.0, 1.0])
    expected = special.logsumexp(a, b=b, return_sign=True)
    out = nn.logsumexp(jnp.asarray(a), b=jnp.asarray(b), return_sign=True)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert np.isnan(nn.logsumexp(jnp.asarray(a), b=jnp.asarray(b)))
    assert nn.logsumexp(jnp.array([1.0, 2000.0]), b=jnp.array([1.0, 0.0])) == 1


@pytest.mark.parametrize("name", [*FUNCTIONS, "logmeanexp", "standardize"])
def test_derivatives_to_second_order(name, x64):
    x = jnp.array([[0.3, 0.1, -2.0, 1.0]])
    check_grads(getattr(nn, name), (x,), order=2)
    where = np.array([True, True, False, True])
    if name != "log_softmax":
        check_grads(lambda v: getattr(nn, name)(v, where=where).sum(), (x,), order=1)


@pytest.mark.parametrize("name", [*FUNCTIONS, "standardize"])
def test_vmap_equals_a_loop(name):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)))
    loop = np.stack([getattr(nn, name)(row) for row in x])
    np.testing.assert_allclose(vmap(getattr(nn, name))(x), loop, rtol=1e-6)


# What JAX 0.12 records for these functions.
@pytest.mark.parametrize(
    ("name", "count"), [("softmax", 9), ("log_softmax", 11), ("logsumexp", 13), ("standardize", 16)]
)
def test_programs_are_no_longer_than_those_of_jax(name, count):
    assert len(make_jaxpr(getattr(nn, name))(jnp.ones((2, 4))).eqns) <= count


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize_brings_mean_and_variance(algorithm, x64):
    x = np.random.default_rng(0).normal(size=(3, 50)) * 4 + 2
    out = np.asarray(nn.standardize(x, epsilon=0.0, algorithm=algorithm))
    np.testing.assert_allclose(out.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(out.var(-1), 1, rtol=1e-12)
    given = nn.standardize(x, mean=2.0, variance=16.0, epsilon=0.0)
    np.testing.assert_allclose(given, (x - 2) / 4, rtol=1e-12)


def test_standardize_names_unknown_algorithms():
    with pytest.raises(ValueError, match="'quick'"):
        nn.standardize(jnp.ones(3), algorithm="quick")


def test_one_hot_rows_and_positions():
    x = jnp.array([0, 2, -1, 7])
    expected = np.zeros((4, 3), np.float32)
    expected[0, 0] = expected[1, 2] = 1
    np.testing.assert_array_equal(nn.one_hot(x, 3), expected)
    np.testing.assert_array_equal(nn.one_hot(x, 3, axis=0), expected.T)
    assert nn.one_hot(x, 3, dtype="int8").dtype == np.int8
    assert nn.one_hot(x, 0).shape == (4, 0)


def test_one_hot_along_a_mapped_axis():
    out = vmap(lambda _: nn.one_hot(jnp.array([1, 3]), 4, axis="i"), axis_name="i")(jnp.arange(4))
    np.testing.assert_array_equal(out, nn.one_hot(jnp.array([1, 3]), 4, axis=0))


@pytest.mark.parametrize(("classes", "axis", "error"), [(-1, -1, TypeError), (3, 5, ValueError)])
def test_one_hot_refuses(classes, axis, error):
    with pytest.raises(error, match="one_hot"):
        nn.one_hot(jnp.array([0]), classes, axis=axis)
