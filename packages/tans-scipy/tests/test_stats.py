"""Distributions against SciPy in double precision, with derivatives."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.stats as sp

import tans_numpy as jnp
from tans_autodiff import grad, jvp
from tans_autodiff.check_grads import check_grads
from tans_batching import vmap
from tans_scipy import stats
from tans_xla import jit

POINTS = np.array([-3.2, -1.1, -0.2, 0.0, 0.13, 0.5, 0.97, 1.0, 1.8, 4.4])
LEVELS = np.array([0.0, 1e-6, 0.3, 0.5, 0.99, 1.0])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 9.0, 10.0, 11.0])
SHAPES = {
    "beta": (1.7, 2.5), "chi2": (3.5,), "gamma": (2.2,), "gennorm": (1.7,), "pareto": (1.6,),
    "t": (4.5,), "truncnorm": (-1.3, 2.1), "vonmises": (2.0,), "wrapcauchy": (0.4,),
    "bernoulli": (0.3,), "betabinom": (10.0, 1.3, 2.4), "binom": (10.0, 0.3), "geom": (0.3,),
    "nbinom": (5.0, 0.3), "poisson": (3.3,),
}  # fmt: skip
DISCRETE = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson")
NAMES = [
    *SHAPES, "cauchy", "expon", "gumbel_l", "gumbel_r", "laplace", "logistic", "norm", "uniform",
]  # fmt: skip
# What follows from the other functions by exp or as a complement is tried for a few always.
DERIVED = ("pdf", "pmf", "sf", "isf")
ALWAYS = ("beta", "gamma", "norm", "poisson", "uniform", "vonmises")
FUNCTIONS = [
    pytest.param(
        name, function,
        marks=[pytest.mark.slow] if function in DERIVED and name not in ALWAYS else [],
    )
    for name in NAMES
    for function in ("logpdf", "pdf", "logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    if hasattr(getattr(stats, name), function)
]  # fmt: skip


def _points(name, function):
    if function in ("ppf", "isf"):
        return LEVELS
    return COUNTS if name in DISCRETE else POINTS


def _located(name, function):
    return "loc" in inspect.signature(getattr(getattr(stats, name), function)).parameters


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_values_equal_scipy(name, function, x64):
    f, oracle = getattr(getattr(stats, name), function), getattr(getattr(sp, name), function)
    x, shapes = _points(name, function), SHAPES.get(name, ())
    moved = {} if not _located(name, function) else {"loc": 1.0}
    if moved and name not in DISCRETE:
        moved["scale"] = 1.7
    for options in ({}, moved):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = oracle(x, *shapes, **options)
        if (name, function) == ("bernoulli", "ppf"):
            expected = np.where(x == 0, 0, expected)
        out = f(x, *shapes, **options)
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, expected, rtol=5e-11, atol=1e-13)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ALWAYS else [pytest.mark.slow]) for n in NAMES]
)
def test_densities_in_single_precision_compiled_and_batched(name):
    f = getattr(stats, name)
    f = f.logpmf if name in DISCRETE else f.logpdf
    shapes = SHAPES.get(name, ())
    x = jnp.asarray(_points(name, "logpdf"), "float32")
    out = f(x, *shapes)
    assert out.dtype == np.float32
    np.testing.assert_allclose(jit(f)(x, *shapes), out, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vmap(lambda v: f(v, *shapes))(x), out, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_of_log_densities_are_finite_and_right(name, x64):
    f = getattr(stats, name)
    f = f.logpmf if name in DISCRETE else f.logpdf
    shapes = SHAPES.get(name, ())
    if name not in DISCRETE:
        x = np.array([-1.1, 0.13, 0.57, 0.91, 1.8])
        slope = np.asarray(vmap(grad(lambda v: f(v, *shapes)))(x))
        assert np.isfinite(slope).all()
        h = 1e-6
        with np.errstate(invalid="ignore"):
            difference = (np.asarray(f(x + h, *shapes)) - np.asarray(f(x - h, *shapes))) / (2 * h)
        inside = np.isfinite(difference)
        np.testing.assert_allclose(slope[inside], difference[inside], rtol=1e-6, atol=1e-8)
    point = 2.0 if name in DISCRETE else 0.57
    point = 1.0 if name == "bernoulli" else 1.57 if name == "pareto" else point
    for i in range(1 if name in ("betabinom", "binom") else 0, len(shapes)):
        check_grads(
            lambda v, i=i: f(point, *shapes[:i], v, *shapes[i + 1 :]), (shapes[i],), order=2
        )


def test_tails_of_the_normal_distribution():
    x = np.float32(30.0)
    np.testing.assert_allclose(stats.norm.logsf(x), sp.norm.logsf(30.0), rtol=1e-6)
    np.testing.assert_allclose(stats.norm.sf(np.float32(10)), sp.norm.sf(10.0), rtol=1e-5)
    np.testing.assert_allclose(stats.cauchy.cdf(np.float32(-1e6)), sp.cauchy.cdf(-1e6), rtol=1e-6)


def test_a_cut_normal_far_in_the_tail(x64):
    args = (np.array([30.5, 31.0]), 30.0, 32.0)
    for function in ("logpdf", "logcdf", "logsf"):
        expected = getattr(sp.truncnorm, function)(*args)
        np.testing.assert_allclose(getattr(stats.truncnorm, function)(*args), expected, rtol=1e-9)


def test_dirichlet(x64):
    alpha = np.array([1.0, 2.0, 3.5])
    x = np.random.default_rng(0).dirichlet(alpha, 4).T
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), sp.dirichlet.logpdf(x, alpha))
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:2], alpha), sp.dirichlet.pdf(x, alpha))
    assert stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.6]), alpha) == -np.inf
    check_grads(lambda a: stats.dirichlet.logpdf(x, a), (alpha,), order=2)


def test_multinomial(x64):
    p, x = np.array([0.2, 0.3, 0.5]), np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]])
    np.testing.assert_allclose(stats.multinomial.logpmf(x, 6, p), sp.multinomial.logpmf(x, 6, p))
    np.testing.assert_allclose(stats.multinomial.pmf(x, 6, p), sp.multinomial.pmf(x, 6, p))


def test_multivariate_normal(x64):
    rng = np.random.default_rng(0)
    x, mean, root = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    cov = root @ root.T + np.eye(3)
    expected = sp.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov), expected)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), np.exp(expected))
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(x, mean, 2.0),
        sp.multivariate_normal.logpdf(x, mean, 2 * np.eye(3)),
    )
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(x, 0.5, 2.0), sp.norm.logpdf(x, 0.5, np.sqrt(2))
    )
    check_grads(stats.multivariate_normal.logpdf, (x, mean, cov), order=1)
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True)


@pytest.mark.parametrize("mu", [0.0, 0.5, 3.0, 99.0, 300.0])
def test_entropy_of_poisson(mu, x64):
    np.testing.assert_allclose(stats.poisson.entropy(mu), sp.poisson.entropy(mu), rtol=1e-9)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    a = np.array([[3.0, 1.0, 1.0, 2.0], [5.0, 5.0, 5.0, 0.0]])
    np.testing.assert_array_equal(stats.rankdata(a, method), sp.rankdata(a, method))
    np.testing.assert_array_equal(stats.rankdata(a, method, axis=1), sp.rankdata(a, method, axis=1))


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("keepdims", [True, False])
def test_mode_and_standard_error(axis, keepdims):
    a = np.array([[1.0, 2.0, 2.0, 3.0], [5.0, 5.0, 7.0, 0.0]])
    ours, theirs = (f(a, axis=axis, keepdims=keepdims) for f in (stats.mode, sp.mode))
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    np.testing.assert_array_equal(ours.count, theirs.count)
    np.testing.assert_allclose(stats.sem(a, axis=axis), sp.sem(a, axis=axis), rtol=1e-6)


def test_policies_and_methods_are_checked():
    with pytest.raises(ValueError, match="nan_policy"):
        stats.sem(jnp.ones(3), nan_policy="skip")
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.mode(jnp.ones(3), nan_policy="omit")
    with pytest.raises(ValueError, match="'middle'"):
        stats.rankdata(jnp.ones(3), "middle")


def test_second_derivative_of_a_log_density_by_forward_mode(x64):
    def slope(x):
        return jvp(stats.logistic.logpdf, (x,), (1.0,))[1]

    _, second = jvp(slope, (30.0,), (1.0,))
    p = sp.logistic.cdf(30.0)
    np.testing.assert_allclose(second, -2 * p * sp.logistic.sf(30.0), rtol=1e-12)
