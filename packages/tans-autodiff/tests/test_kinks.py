"""Derivatives at kinks, poles and ties: what the spec lists, in forward and reverse mode."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad, jacrev, jvp

f32 = np.float32
inf, nan = np.inf, np.nan


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


UNARY = {
    "abs": (lax.abs, [-1, 0, 1], [-1, 1, 1]),
    "sign": (lax.sign, [0.0], [0]),
    "sqrt": (lax.sqrt, [0.0], [inf]),
    "rsqrt": (lax.rsqrt, [0.0], [-inf]),
    "cbrt": (lax.cbrt, [0.0], [inf]),
    "log": (lax.log, [0.0, -1.0], [inf, -1]),
    "log1p": (lax.log1p, [-1.0], [inf]),
    "tanh": (lax.tanh, [100.0], [0]),
    "logistic": (lax.logistic, [-1000.0, 0.0, 1000.0], [0, 0.25, 0]),
    "acos": (lax.acos, [1.0], [-inf]),
    "asin": (lax.asin, [1.0], [inf]),
    "floor": (lax.floor, [1.5], [0]),
    "ceil": (lax.ceil, [1.5], [0]),
    "round": (lax.round, [1.5], [0]),
    "erf_inv": (lax.erf_inv, [1.0], [inf]),
    "lgamma": (lax.lgamma, [0.0], [-inf]),
    "clamp": (lambda x: lax.clamp(0.0, x, 1.0), [-1, 0, 0.5, 1, 2], [0, 0, 1, 0, 0]),
    "select": (lambda x: lax.select(lax.gt(x, 0.0), x, lax.neg(x)), [0.0], [-1]),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    f, points, expected = UNARY[name]
    for x, slope in zip(map(f32, points), expected, strict=True):
        np.testing.assert_allclose(grad(f)(x), slope, rtol=1e-6)
        np.testing.assert_allclose(jvp(f, (x,), (f32(1),))[1], slope, rtol=1e-6)


BINARY = {
    "max tie": (lax.max, (1, 1), (0.5, 0.5)),
    "min tie": (lax.min, (1, 1), (0.5, 0.5)),
    "max nan": (lax.max, (nan, 1), (0, 0)),
    "rem": (lax.rem, (-5, 3), (1, 1)),
    "div": (lax.div, (0, 0), (inf, nan)),
    "atan2": (lax.atan2, (0, 0), (nan, nan)),
    "pow 0 1": (lax.pow, (0, 1), (1, 0)),
    "pow 0 2": (lax.pow, (0, 2), (0, 0)),
    "pow negative": (lax.pow, (-2, 2), (-4, nan)),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    f, point, expected = BINARY[name]
    found = grad(f, (0, 1))(*map(f32, point))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("n", "slope"), [(0, 0), (1, 1), (2, 0), (3, 0), (-1, -inf)])
def test_integer_powers_at_zero(n, slope):
    assert float(grad(lambda x: lax.integer_pow(x, n))(0.0)) == slope


def test_parts_of_clamp():
    assert list(map(float, grad(lax.clamp, (0, 1, 2))(0.0, 2.0, 1.0))) == [0, 0, 1]
    assert list(map(float, grad(lax.clamp, (0, 1, 2))(0.0, 0.0, 1.0))) == [0, 0, 0]


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: lax.reduce_max(x, (0,)), [1, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3]),
        (lambda x: lax.reduce_min(x, (0,)), [1, 1, 3], [0.5, 0.5, 0]),
        (lambda x: lax.reduce_max(x, (0,)), [1, nan, 3], [nan, nan, nan]),
        (lambda x: lax.reduce_prod(x, (0,)), [0, 2, 3], [6, 0, 0]),
        (lambda x: lax.reduce_prod(x, (0,)), [0, 0, 3], [0, 0, 0]),
        (lambda x: total(lax.top_k(x, 2)[0]), [1, 3, 3, 2], [0, 1, 1, 0]),
    ],
    ids=["max", "min", "max nan", "prod", "prod zeros", "top_k"],
)
def test_reductions(f, x, expected):
    np.testing.assert_allclose(grad(f)(np.array(x, f32)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lax.sort, [2, 1, 1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        (lax.cumprod, [2, 0, 3], [[1, 0, 0], [0, 2, 0], [0, 6, 0]]),
        (lax.cummax, [1, 1, 2], [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]),
    ],
    ids=["sort", "cumprod", "cummax"],
)
def test_jacobians(f, x, expected):
    np.testing.assert_array_equal(jacrev(f)(np.array(x, f32)), expected)


def test_the_unselected_branch_multiplies_a_zero():
    f = lambda x: lax.select(lax.gt(x, 0.0), lax.sqrt(x), lax.mul(x, 0.0))  # noqa: E731
    assert np.isnan(grad(f)(f32(0)))

    def guarded(x):
        positive = lax.gt(x, f32(0))
        inner = lax.select(positive, x, f32(1))
        return lax.select(positive, lax.sqrt(inner), f32(0))

    assert float(grad(guarded)(f32(0))) == 0


@pytest.mark.parametrize(("z", "expected"), [(0j, 0j), (3 + 4j, 0.6 - 0.8j)])
def test_absolute_value_of_complex_numbers(z, expected):
    np.testing.assert_allclose(grad(lax.abs)(np.complex64(z)), expected, rtol=1e-6)


@pytest.mark.parametrize("relu", [lambda x: lax.max(x, f32(0)), lambda x: lax.max(f32(0), x)])
def test_both_modes_agree_where_an_infinite_slope_is_not_reached(relu):
    f = lambda x: lax.sqrt(relu(x))  # noqa: E731
    assert float(grad(f)(f32(-10))) == 0.0
    assert float(jvp(f, (f32(-10),), (f32(1),))[1]) == 0.0
