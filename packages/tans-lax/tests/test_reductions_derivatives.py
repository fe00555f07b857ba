"""Derivatives of reductions, to second order, and at ties, zeros and nan."""

import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_lax as lax

grad = autodiff.grad


def sample(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((), ()), ((5,), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (2, 0))]
)
def test_derivatives_to_second_order(check_derivatives, name, shape, axes):
    check_derivatives(lambda x: getattr(lax, name)(x, axes), sample(shape))


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod"])
def test_complex_derivatives(check_derivatives, name):
    check_derivatives(
        lambda x: getattr(lax, name)(x, (0,)), sample((3, 2)) + 1j * sample((3, 2), 1)
    )


def test_general_fold_to_second_order(check_derivatives):
    def fold(x):
        return lax.reduce(x, 1.5, lambda a, b: lax.mul(a, lax.add(b, 0.0)), (0,))

    check_derivatives(fold, sample((5, 2)))


def test_initial_value_of_a_fold_has_a_derivative(check_derivatives):
    def fold(x, init):
        return lax.reduce(x, lax.sin(init), lax.mul, (0, 1))

    check_derivatives(fold, sample((3, 2)), np.float64(0.7))


def test_fold_of_floats_and_integers_differentiates_the_floats():
    def fold(x, i):
        def first_max(a, b):
            wins = lax.gt(a[0], b[0])
            return lax.select(wins, a[0], b[0]), lax.select(wins, a[1], b[1])

        return lax.reduce((x, i), (-np.inf, 0), first_max, (0,))[0]

    x, i = np.array([1.0, 5.0, 2.0], np.float32), np.arange(3)
    assert grad(fold)(x, i).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("x", "expected"), [([0, 2, 3], [6, 0, 0]), ([0, 0, 3], [0, 0, 0]), ([2, 3, 4], [12, 8, 6])]
)
def test_gradient_of_a_product_is_exact_with_zeros(x, expected):
    assert grad(lambda x: lax.reduce_prod(x, (0,)))(np.array(x, np.float32)).tolist() == expected


def test_extrema_share_the_gradient_among_ties():
    x = np.array([1, 3, 3, 3], np.float32)
    expected = [0, 1 / 3, 1 / 3, 1 / 3]
    np.testing.assert_allclose(grad(lambda x: lax.reduce_max(x, (0,)))(x), expected, rtol=1e-6)
    x = np.array([1, 1, 3], np.float32)
    assert grad(lambda x: lax.reduce_min(x, (0,)))(x).tolist() == [0.5, 0.5, 0]


def test_gradient_of_an_extremum_that_is_nan_is_nan():
    x = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(grad(lambda x: lax.reduce_max(x, (0,)))(x)).all()


def test_empty_products_have_gradients():
    assert grad(lambda x: lax.reduce_prod(x, (0,)))(np.zeros(0, np.float32)).shape == (0,)


def test_argmax_has_a_float0_tangent():
    x = np.array([1.0, 2.0], np.float32)
    out, tangent = autodiff.jvp(lambda x: lax.argmax(x, 0, np.int32), (x,), (x,))
    assert int(out) == 1
    assert tangent.dtype == autodiff.jvp(lambda x: lax.argmin(x, 0, np.int32), (x,), (x,))[1].dtype
    assert tangent.dtype.names == ("float0",)
