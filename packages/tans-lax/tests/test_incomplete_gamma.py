"""Incomplete gamma and beta functions and i0e against SciPy in float64."""

import numpy as np
import pytest
import scipy.special as special

import tans_lax as lax
from tans_core.config import enable_x64

RTOL = {np.dtype("float32"): 3e-7, np.dtype("float64"): 1e-11, np.dtype("float16"): 2e-3}


def pairs(dtype, count=300):
    """Return shapes and arguments over many scales, near each other where it is hard."""
    rng = np.random.default_rng(0)
    top = 4 if dtype == np.float16 else 8
    a = np.exp(rng.uniform(-3, top, count))
    x = a * np.exp(rng.normal(0, 0.3, count))
    x[: count // 3] = np.exp(rng.uniform(-5, 3, count // 3))
    return a.astype(dtype), x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("fn", "oracle"),
    [(lax.igamma, special.gammainc), (lax.igammac, special.gammaincc)],
    ids=["igamma", "igammac"],
)
def test_values_are_those_of_scipy(fn, oracle, dtype):
    a, x = pairs(dtype)
    with enable_x64(dtype == "float64"):
        out = fn(a, x)
    assert out.dtype == dtype
    expected = oracle(a.astype(np.float64), x.astype(np.float64))
    tiny = 1e-7 if dtype == "float16" else 1e-38
    np.testing.assert_allclose(out, expected, rtol=RTOL[np.dtype(dtype)], atol=tiny)


def test_derivatives_are_differences_of_scipy():
    a, x = pairs("float64")
    step = 1e-6 * a
    with enable_x64(True):
        by_a, sample = lax.igamma_grad_a(a, x), lax.random_gamma_grad(a, x)
    expected = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    np.testing.assert_allclose(by_a, expected, atol=1e-7)
    p = special.gammainc(a, x)
    middle = (p > 1e-3) & (p < 0.999)
    ahead, behind = (special.gammaincinv(a + s, p)[middle] for s in (10 * step, -10 * step))
    np.testing.assert_allclose(
        np.asarray(sample)[middle], (ahead - behind) / (20 * step[middle]), rtol=1e-5
    )


def test_values_at_and_beyond_the_limits():
    a = np.array([1, 1, 0, -1, 1, np.nan, 1], np.float32)
    x = np.array([0, np.inf, 1, 1, -1, 1, np.nan], np.float32)
    nan = np.nan
    np.testing.assert_array_equal(lax.igamma(a, x), [0, 1, 1, nan, nan, nan, nan])
    np.testing.assert_array_equal(lax.igammac(a, x), [1, 0, 0, nan, nan, nan, nan])
    np.testing.assert_array_equal(special.gammainc(a, x)[:3], [0, 1, 1])
    assert lax.igamma(a[:0], x[:0]).shape == (0,)


def test_incomplete_beta_is_that_of_scipy():
    rng = np.random.default_rng(1)
    a, b = (np.exp(rng.uniform(-3, 5, 300)).astype(np.float32) for _ in range(2))
    x = rng.uniform(0, 1, 300).astype(np.float32)
    expected = special.betainc(*(v.astype(np.float64) for v in (a, b, x)))
    np.testing.assert_allclose(lax.betainc(a, b, x), expected, rtol=3e-7, atol=1e-30)
    assert [float(lax.betainc(2.0, 3.0, x)) for x in (0.0, 1.0)] == [0, 1]
    assert np.isnan(lax.betainc(2.0, 3.0, 1.5))
    assert float(lax.betainc(0.0, 3.0, 0.5)) == special.betainc(0.0, 3.0, 0.5) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_i0e_is_that_of_scipy(dtype):
    x = np.concatenate([np.linspace(-20, 20, 401), [8, 1e4, 0]]).astype(dtype)
    with enable_x64(dtype == "float64"):
        out = lax.bessel_i0e(x)
    np.testing.assert_allclose(out, special.i0e(x.astype(np.float64)), rtol=RTOL[np.dtype(dtype)])


def test_derivatives(check_derivatives):
    x = np.array([0.3, 1.0, 4.0])
    with enable_x64(True):
        check_derivatives(lambda x: lax.igamma(np.full(3, 2.5), x), x, order=1)
        check_derivatives(lambda a: lax.igammac(a, np.full(3, 2.5)), x, order=1)
        check_derivatives(
            lambda x: lax.betainc(np.full(3, 2.5), np.full(3, 1.5), x), x / 5, order=1
        )
        check_derivatives(lax.bessel_i0e, x, order=1)
        check_derivatives(lax.bessel_i1e, x, order=1)


def test_second_derivatives(check_derivatives):
    a, x = np.array([0.4, 2.5, 7.0, 30.0]), np.array([0.3, 4.0, 2.0, 25.0])
    with enable_x64(True):
        for fn in (lax.igamma_grad_a, lax.random_gamma_grad):
            check_derivatives(fn, a, x, order=1)


def test_second_derivatives_of_a_sample_hold_the_probability_fixed():
    import tans_autodiff as autodiff

    a, x = np.array([0.8, 2.5, 7.0]), np.array([0.3, 4.0, 6.0])
    p, step = special.gammainc(a, x), 1e-3 * a
    ahead, behind = (special.gammaincinv(a + s, p) for s in (step, -step))
    slope = lax.random_gamma_grad
    with enable_x64(True):
        # x is a function of a whose slope is `slope`.
        along = autodiff.jvp(slope, (a, x), (np.ones(3), np.asarray(slope(a, x))))[1]
    np.testing.assert_allclose(along, (ahead - 2 * x + behind) / step**2, rtol=1e-5)


def test_second_derivatives_in_narrow_dtypes():
    import tans_autodiff as autodiff

    a, x = np.array([0.8, 2.5, 7.0]), np.array([0.3, 4.0, 6.0])
    slopes = {}
    for dtype in ("float64", "float32", "bfloat16"):
        with enable_x64(dtype == "float64"):
            ins = [lax.convert_element_type(v, dtype) for v in (a, x)]
            fn = lambda a, x: lax.reduce_sum(lax.random_gamma_grad(a, x), (0,))  # noqa: E731
            slopes[dtype] = np.asarray(autodiff.grad(fn)(*ins)).astype(np.float64)
    np.testing.assert_allclose(slopes["float32"], slopes["float64"], rtol=1e-4)
    np.testing.assert_allclose(slopes["bfloat16"], slopes["float64"], rtol=0.05)


def test_batching_is_a_loop():
    import tans_batching as batching

    a, x = pairs("float32", 3)
    for fn in (lax.igamma, lax.random_gamma_grad):
        each = [float(fn(p, x[0])) for p in a]
        np.testing.assert_allclose(batching.vmap(fn, (0, None))(a, x[0]), each, rtol=1e-6)
    each = [float(lax.betainc(p, x[0], np.float32(0.3))) for p in a]
    mapped = batching.vmap(lambda a: lax.betainc(a, x[0], np.float32(0.3)))(a)
    np.testing.assert_allclose(mapped, each, rtol=1e-6)


def test_errors():
    with pytest.raises(TypeError, match="igamma"):
        lax.igamma(np.int32(1), np.int32(2))
    import tans_autodiff as autodiff

    with pytest.raises(ValueError, match="stop_gradient"):
        autodiff.grad(lambda a: lax.betainc(a, 2.0, 0.5))(1.0)
