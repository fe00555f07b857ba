"""Windows, spectra by segments and short-time transforms against SciPy in float64."""

import numpy as np
import pytest
from scipy import signal as ss

import tans_numpy as jnp
from tans_autodiff import grad
from tans_core.config import enable_x64
from tans_scipy import signal
from tans_scipy.signal_windows import get_window
from tans_xla import jit

TOL = {"float32": 3e-4, "float64": 1e-9}
WINDOWS = [
    "boxcar", "hann", "hamming", "blackman", "blackmanharris", "nuttall", "flattop", "bartlett",
    "cosine", ("kaiser", 3.0), ("gaussian", 4.0), ("tukey", 0.5), ("tukey", 0.0),
]  # fmt: skip


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    with enable_x64(request.param == "float64"):
        yield request.param


def sample(dtype, seed=0, shape=(2, 300)):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(out, expected, dtype):
    np.testing.assert_allclose(out, expected, rtol=TOL[dtype], atol=TOL[dtype])


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 16, 17])
def test_windows_equal_scipy(window, n):
    np.testing.assert_allclose(get_window(window, n), ss.get_window(window, n), atol=1e-12)


OPTIONS = [
    {}, {"nperseg": 65, "noverlap": 20, "nfft": 80, "detrend": "linear"},
    {"scaling": "spectrum", "average": "median", "nperseg": 50},
    {"window": ("tukey", 0.3), "nperseg": 32, "return_onesided": False, "detrend": False},
    {"axis": 0, "nperseg": 2},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_densities_equal_scipy(options, dtype):
    x, y = sample(dtype), sample(dtype, 1)
    for name, args in (("welch", (x,)), ("csd", (x, y)), ("csd", (x + 1j * y, y))):
        if name == "csd" and np.iscomplexobj(args[0]):
            options = {**options, "return_onesided": False}
        wide = [a.astype(complex if np.iscomplexobj(a) else float) for a in args]
        found = jit(lambda *a: getattr(signal, name)(*a, 2.0, **options))(*args)  # noqa: B023
        for got, expected in zip(found, getattr(ss, name)(*wide, 2.0, **options), strict=True):
            close(got, expected, dtype)


def test_values_of_a_window_and_a_shorter_signal(dtype):
    x, y = sample(dtype), sample(dtype, 1, (2, 250))
    window = np.hanning(40)
    expected = ss.csd(x.astype(float), y.astype(float), window=window)
    for got, value in zip(signal.csd(x, y, window=jnp.asarray(window)), expected, strict=True):
        close(got, value, dtype)


TRANSFORMS = [
    {"nperseg": 64}, {"nperseg": 65, "noverlap": 20, "nfft": 80},
    {"boundary": "even", "nperseg": 50}, {"boundary": "odd", "nperseg": 50, "padded": False},
    {"boundary": None, "nperseg": 32},
    {"boundary": "constant", "return_onesided": False, "nperseg": 32},
]  # fmt: skip


@pytest.mark.parametrize("options", TRANSFORMS, ids=str)
def test_short_time_transform_equals_scipy(options, dtype):
    x = sample(dtype)
    for got, expected in zip(
        signal.stft(x, 2.0, **options), ss.stft(x.astype(float), 2.0, **options), strict=True
    ):
        close(got, expected, dtype)
    out, expected = (f.stft(v, axis=0, **options)[2] for f, v in ((signal, x.T), (ss, x.T * 1.0)))
    close(out, expected, dtype)


@pytest.mark.parametrize("options", [{"nperseg": 64}, {"nperseg": 65, "noverlap": 20, "nfft": 80}])
def test_inverse_gives_the_signal_back(options, dtype):
    x = sample(dtype)
    spectrum = signal.stft(x, 2.0, **options)[2]
    times, out = signal.istft(spectrum, 2.0, **options)
    expected = ss.istft(np.asarray(spectrum), 2.0, **options)[1]
    close(out, expected, dtype)
    close(out[:, :300], x, dtype)
    # One time per sample, whatever the shape of the signal.
    assert times.shape == out.shape[-1:]
    close(times, np.arange(out.shape[-1]) / 2, dtype)


def test_slope_of_a_density():
    with enable_x64(True):
        x, h = sample("float64", shape=(64,)), 1e-6 * sample("float64", 1, (64,))
        value = lambda v: signal.welch(v, nperseg=16)[1].sum()  # noqa: E731
        central = (value(x + h) - value(x - h)) / 2
        np.testing.assert_allclose(grad(value)(x) @ h, central, rtol=1e-5)


X = np.ones(64)
BAD = {
    "window": (lambda: signal.welch(X, window="x"), "'x'"),
    "window shape": (lambda: signal.welch(X, window=jnp.ones(80)), r"\(80,\)"),
    "nperseg": (lambda: signal.welch(X, nperseg=0), "nperseg=0"),
    "overlap": (lambda: signal.welch(X, nperseg=8, noverlap=8), "noverlap=8"),
    "scaling": (lambda: signal.csd(X, X, scaling="x"), "'x'"),
    "average": (lambda: signal.csd(X, X, average="x"), "'x'"),
    "detrend": (lambda: signal.csd(X, X, detrend="x"), "'x'"),
    "boundary": (lambda: signal.stft(X, boundary="x"), "'x'"),
    "axes": (lambda: signal.istft(jnp.ones((3, 3)), time_axis=0, freq_axis=-2), "time_axis=0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    call, fact = BAD[name]
    with pytest.raises(ValueError, match=fact):
        call()
