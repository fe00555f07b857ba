"""Convolution, interpolation and minimisation against SciPy."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal as sp

import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_scipy import ndimage, optimize, signal
from tans_xla import jit

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "shapes", [((7,), (3,)), ((3,), (4,)), ((5, 6), (2, 3)), ((4, 3, 3), (2, 2, 1))]
)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolution_and_correlation(name, shapes, mode):
    a, b = (RNG.normal(size=s).astype(np.float32) for s in shapes)
    expected = getattr(sp, name)(a, b, mode, method="direct")
    np.testing.assert_allclose(getattr(signal, name)(a, b, mode), expected, rtol=1e-4, atol=1e-5)
    if len(shapes[0]) == 2:
        expected = getattr(sp, f"{name}2d")(a, b, mode)
        out = getattr(signal, f"{name}2d")(a, b, mode)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_complex_correlation_conjugates():
    a, b = (RNG.normal(size=5) + 1j * RNG.normal(size=5) for _ in range(2))
    np.testing.assert_allclose(signal.correlate(a, b), sp.correlate(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_by_transforms(mode):
    if not hasattr(jnp, "fft") or not hasattr(jnp.fft, "rfftn"):
        pytest.skip("Fourier transforms are not available")
    a, b = RNG.normal(size=(6, 5)).astype(np.float32), RNG.normal(size=(3, 2)).astype(np.float32)
    expected = sp.fftconvolve(a, b, mode)
    np.testing.assert_allclose(signal.fftconvolve(a, b, mode), expected, rtol=1e-4, atol=1e-5)


def test_integers_become_floats_and_bad_operands_are_refused():
    assert signal.convolve(jnp.arange(3), jnp.arange(3)).dtype == np.float32
    for call in (
        lambda: signal.convolve(jnp.ones(2), jnp.ones((2, 2))),
        lambda: signal.convolve(jnp.ones(2), jnp.ones(2), "open"),
        lambda: signal.convolve(jnp.ones(2), jnp.ones(2), method="slow"),
        lambda: signal.convolve(jnp.ones(0), jnp.ones(2)),
        lambda: signal.detrend(jnp.ones(2), type="cubic"),
    ):
        with pytest.raises(ValueError, match="given"):
            call()
    with pytest.raises(NotImplementedError, match="boundary"):
        signal.convolve2d(jnp.ones((2, 2)), jnp.ones((2, 2)), boundary="wrap")


@pytest.mark.parametrize(("kind", "bp"), [("constant", 0), ("linear", 0), ("linear", [3, 6])])
def test_detrend(kind, bp, x64):
    x = RNG.normal(size=(2, 10))
    np.testing.assert_allclose(signal.detrend(x, type=kind, bp=bp), sp.detrend(x, type=kind, bp=bp))


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    x = RNG.normal(size=(4, 5)).astype(np.float32)
    inside = RNG.uniform(0.1, 2.9, size=(2, 6)).astype(np.float32)
    outside = RNG.integers(-4, 8, size=(2, 6)).astype(np.float32)
    theirs = {"wrap": "grid-wrap"}.get(mode, mode)
    for c in (inside, outside):
        expected = scipy.ndimage.map_coordinates(x, c, order=order, mode=theirs, cval=7.0)
        out = ndimage.map_coordinates(x, list(c), order, mode, 7.0)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_map_coordinates_of_integers_rounds_and_refuses_the_rest():
    out = ndimage.map_coordinates(jnp.arange(5), [jnp.array([0.5, 1.6])], 1)
    np.testing.assert_array_equal(out, [1, 2])
    with pytest.raises(NotImplementedError, match="order"):
        ndimage.map_coordinates(jnp.ones(2), [jnp.ones(1)], 3)
    with pytest.raises(NotImplementedError, match="mode"):
        ndimage.map_coordinates(jnp.ones(2), [jnp.ones(1)], 1, "open")
    with pytest.raises(ValueError, match="rank"):
        ndimage.map_coordinates(jnp.ones((2, 2)), [jnp.ones(1)], 1)


def test_derivatives(x64):
    a, b = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 2))
    check_grads(signal.convolve, (a, b), order=2)
    check_grads(lambda v, c: ndimage.map_coordinates(v, [c, c], 1), (a, np.array([0.3, 1.2])), 2)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_minimum_of_rosenbrocks_function(x64):
    out = optimize.minimize(rosenbrock, jnp.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert out.success
    np.testing.assert_allclose(out.x, np.ones(4), rtol=1e-6)


def test_minimum_with_arguments_under_jit():
    def f(target):
        return optimize.minimize(
            lambda x, t: jnp.sum((x - t) ** 2 * jnp.array([1.0, 10.0])), jnp.zeros(2), (target,),
            method="bfgs",
        ).x  # fmt: skip

    np.testing.assert_allclose(jit(f)(jnp.array([1.0, 2.0])), [1, 2], rtol=1e-4)


def test_too_few_iterations_are_reported():
    out = optimize.minimize(rosenbrock, jnp.zeros(4), method="BFGS", options={"maxiter": 2})
    assert not out.success
    assert (out.status, out.nit) == (1, 2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "Powell"}, ValueError),
        ({"method": "BFGS", "args": 1.0}, TypeError),
        ({"method": "BFGS", "options": {"step": 1}}, TypeError),
        ({"method": "BFGS", "x0": np.zeros((2, 2))}, ValueError),
    ],
)
def test_what_minimize_refuses(options, error):
    with pytest.raises(error, match="minimize"):
        optimize.minimize(rosenbrock, **{"x0": jnp.zeros(2), **options})
