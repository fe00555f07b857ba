"""Derivatives of gamma samples in the shape parameter, against SciPy's quantile function."""

import numpy as np
import scipy.special as special

import tans_autodiff as autodiff
import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_core.config import enable_x64


def slope_at_fixed_probability(a, x, step=1e-5):
    p = special.gammainc(a, x)
    ahead, behind = (special.gammaincinv(a + s * a, p) for s in (step, -step))
    return (ahead - behind) / (2 * step * a)


def test_gamma_samples_move_at_fixed_probability():
    a = np.array([0.3, 1.0, 2.5, 40.0])
    with enable_x64(True):
        fn = lambda a: random.gamma(random.key(1), a)  # noqa: E731
        samples, slopes = autodiff.jvp(fn, (a,), (np.ones(4),))
    expected = slope_at_fixed_probability(a, np.asarray(samples))
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)


def test_log_gamma_slopes_are_those_of_the_samples_over_the_samples():
    a, ones = np.array([0.02, 0.3, 2.5]), np.ones(3)
    with enable_x64(True):
        key = random.key(1)
        x, slopes = autodiff.jvp(lambda a: random.gamma(key, a), (a,), (ones,))
        _, log_slopes = autodiff.jvp(lambda a: random.loggamma(key, a), (a,), (ones,))
        np.testing.assert_allclose(log_slopes, slopes / x, rtol=1e-8)


def test_log_gamma_slopes_are_finite_where_samples_underflow():
    a = 1e-3
    logs, slopes = autodiff.jvp(lambda a: random.loggamma(random.key(0), a, (3,)), (a,), (1.0,))
    expected = (special.digamma(a + 1) - np.asarray(logs, np.float64)) / a
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)


def test_dirichlet_slopes_keep_the_sum():
    slopes = autodiff.jacfwd(lambda a: random.dirichlet(random.key(0), a))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(jnp.sum(slopes, 0), 0, atol=1e-6)


def test_gradients_pass_through_parameters():
    def loss(mean, scale):
        x = mean + scale * random.normal(random.key(0), (4,))
        return jnp.sum(x**2)

    z = np.asarray(random.normal(random.key(0), (4,)))
    by_mean, by_scale = autodiff.grad(loss, (0, 1))(1.0, 2.0)
    np.testing.assert_allclose(by_mean, np.sum(2 * (1 + 2 * z)), rtol=1e-5)
    np.testing.assert_allclose(by_scale, np.sum(2 * (1 + 2 * z) * z), rtol=1e-5)


def test_second_derivatives_of_samples_are_those_at_fixed_probability():
    a, step = 2.0, 1e-3
    with enable_x64(True):
        fn = lambda a: random.gamma(random.key(0), a)  # noqa: E731
        x, second = float(fn(a)), autodiff.grad(autodiff.grad(fn))(a)
    p = special.gammainc(a, x)
    ahead, here, behind = special.gammaincinv(np.array([a + step, a, a - step]), p)
    np.testing.assert_allclose(second, (ahead - 2 * here + behind) / step**2, rtol=1e-5)


def test_the_slope_function_is_that_of_lax():
    out = lax.random_gamma_grad(jnp.float32(2.5), jnp.float32(1.7))
    np.testing.assert_allclose(out, slope_at_fixed_probability(2.5, 1.7), rtol=1e-5)
