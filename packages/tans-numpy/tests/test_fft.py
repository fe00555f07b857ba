"""Fourier transforms against NumPy: lengths, axes, normalisations, and bad arguments."""

import numpy as np
import pytest

from tans_core import config_module as config
from tans_numpy import fft
from tans_xla import jit

NORMS = [None, "backward", "ortho", "forward"]
X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)


def close(out, expected, tolerance=2e-4):
    assert out.shape == expected.shape
    assert np.iscomplexobj(out) == np.iscomplexobj(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_along_one_axis_equal_numpy(name, norm):
    x = X if name in ("rfft", "ihfft") else Z
    for n in (None, 3, 4, 7):
        for axis in (0, -1):
            out = getattr(fft, name)(x, n, axis, norm)
            close(out, getattr(np.fft, name)(x, n, axis, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_several_axes_equal_numpy(name, norm):
    x = X if name == "rfftn" else Z
    for s, axes in [(None, None), ((2, 6), (0, 2)), ((4, 3), (2, 1)), (None, (1,))]:
        out = getattr(fft, name)(x, s, axes, norm)
        close(out, getattr(np.fft, name)(x, s, axes, norm))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_transforms_along_two_axes_equal_numpy(name):
    x = X if name == "rfft2" else Z
    close(getattr(fft, name)(x), getattr(np.fft, name)(x))
    close(getattr(fft, name)(x, axes=(0, 1)), getattr(np.fft, name)(x, axes=(0, 1)))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_more_than_three_axes(name):
    x = np.random.default_rng(1).standard_normal((2, 3, 2, 3, 4)).astype(np.float32)
    close(getattr(fft, name)(x), getattr(np.fft, name)(x))


def test_dtypes():
    assert fft.fft(np.ones(3, np.int8)).dtype == np.complex64
    assert fft.rfft(np.ones(3, np.float16)).dtype == np.complex64
    assert fft.irfft(np.ones(3, np.float32)).dtype == np.float32
    with config.enable_x64(True):
        x = np.random.default_rng(2).standard_normal(6)
        close(fft.fft(x), np.fft.fft(x), 1e-12)


def test_transforms_of_nothing():
    assert fft.fft(np.zeros(0)).shape == fft.irfft(np.zeros(0)).shape == (0,)
    assert fft.rfft(np.zeros((2, 0))).shape == (2, 0)
    assert fft.irfft(np.ones(1)).shape == (0,)
    assert fft.fftn(np.float32(2)).dtype == np.complex64


def test_transforms_run_under_jit():
    close(jit(fft.fftn)(Z), np.fft.fftn(Z))


@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("d", [1.0, 0.1])
def test_frequencies_equal_numpy(n, d):
    close(fft.fftfreq(n, d), np.fft.fftfreq(n, d))
    close(fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))


@pytest.mark.parametrize("axes", [None, 0, (0, 2)])
def test_shifts_equal_numpy(axes):
    np.testing.assert_array_equal(fft.fftshift(X, axes), np.fft.fftshift(X, axes))
    np.testing.assert_array_equal(fft.ifftshift(X, axes), np.fft.ifftshift(X, axes))


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: fft.fft(X, norm="zz"), ValueError, ["'zz'", "ortho"]),
        (lambda: fft.fft(X, n=0), ValueError, ["(0,)"]),
        (lambda: fft.fft(X, axis=(0,)), ValueError, ["(0,)", "fftn"]),
        (lambda: fft.fft(X, axis=4), ValueError, ["4"]),
        (lambda: fft.fft(1.0), ValueError, ["0 dimensions"]),
        (lambda: fft.rfft(Z), ValueError, ["complex64", "real"]),
        (lambda: fft.fftn(X, axes=(0, 0)), ValueError, ["(0, 0)"]),
        (lambda: fft.fft2(X, axes=(0,)), ValueError, ["(0,)", "two"]),
        (lambda: fft.fftn(X, s=(2,), axes=(0, 1)), ValueError, ["(2,)", "(0, 1)"]),
        (lambda: fft.fftn(X, s=(2, 2, 2, 2)), ValueError, []),
        (lambda: fft.fft([1.0]), TypeError, ["list"]),
        (lambda: fft.fftfreq(-1), ValueError, ["n=-1"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


def test_derivatives():
    autodiff = pytest.importorskip("tans_autodiff")
    with config.enable_x64(True):
        x, t = np.random.default_rng(3).standard_normal((2, 3, 4))
        out, dot = autodiff.jvp(fft.rfft2, (x,), (t,))
        close(dot, np.fft.rfft2(t), 1e-12)
        bar = np.random.default_rng(4).standard_normal(out.shape) + 0j
        (x_bar,) = autodiff.vjp(fft.rfft2, x)[1](bar)
        np.testing.assert_allclose(np.sum(bar * dot).real, np.sum(x_bar * t), rtol=1e-12)


@pytest.mark.parametrize("norm", ["ortho", "forward", "backward"])
def test_transforms_of_no_numbers_are_empty(norm):
    assert fft.fft(np.zeros((3, 0)), norm=norm).shape == (3, 0)
    assert fft.ihfft(np.zeros((3, 0)), norm=norm).shape == (3, 0)
