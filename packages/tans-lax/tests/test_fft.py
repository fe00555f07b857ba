"""Fourier transforms against NumPy, with derivatives, batching and errors."""

import numpy as np
import pytest

import tans_lax as lax
from tans_core import config_module as config
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.fourier import fft_p

CASES = [((8,), 1), ((7,), 1), ((2, 6), 1), ((3, 4, 5), 2), ((2, 3, 4, 6), 3), ((1,), 1)]


def signal(shape, dtype):
    rng = np.random.default_rng(len(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize(("shape", "rank"), CASES)
@pytest.mark.parametrize("double", [False, True])
def test_transforms_equal_numpy(shape, rank, double):
    real, cplx = ("float64", "complex128") if double else ("float32", "complex64")
    axes, lengths = tuple(range(-rank, 0)), shape[-rank:]
    tolerance = {"rtol": 1e-11, "atol": 1e-11} if double else {"rtol": 2e-5, "atol": 2e-5}
    with config.enable_x64(double):
        z, x = signal(shape, cplx), signal(shape, real)
        half = np.fft.rfftn(x, axes=axes).astype(cplx)
        for kind, given, expected in [
            ("FFT", z, np.fft.fftn(z, axes=axes)),
            ("IFFT", z, np.fft.ifftn(z, axes=axes)),
            ("RFFT", x, half),
            ("IRFFT", half, np.fft.irfftn(half, lengths, axes)),
        ]:
            out = lax.fft(given, kind, lengths)
            assert out.dtype == (real if kind == "IRFFT" else cplx)
            np.testing.assert_allclose(out, expected, **tolerance)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0)])
def test_empty_signals_have_empty_transforms(shape):
    assert lax.fft(signal(shape, "complex64"), lax.FftType.FFT, shape[-1:]).shape == shape


def test_real_input_of_a_complex_transform_is_converted():
    out = lax.fft(np.arange(4, dtype=np.float32), "fft", (4,))
    np.testing.assert_allclose(out, np.fft.fft(np.arange(4)), atol=1e-6)


@pytest.mark.parametrize("kind", list(lax.FftType))
@pytest.mark.parametrize(("shape", "lengths"), [((2, 6), (6,)), ((4, 5), (4, 5))])
def test_derivatives(check_derivatives, kind, shape, lengths):
    x = signal(shape, "float64" if kind is lax.FftType.RFFT else "complex128")
    if kind is lax.FftType.IRFFT:
        x = x[..., : lengths[-1] // 2 + 1]
    check_derivatives(lambda x: lax.fft(x, kind, lengths), x, order=1)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batching_equals_a_loop(dim):
    x = signal((3, 4, 6), "complex64")
    out, out_dim = rules.batching[fft_p](
        AxisData(3), (np.moveaxis(x, 0, dim),), (dim,), fft_type=lax.FftType.FFT, fft_lengths=(6,)
    )
    expected = np.fft.fft(x)
    np.testing.assert_allclose(np.moveaxis(np.asarray(out), out_dim, 0), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "kind", "lengths", "facts"),
    [
        (np.ones(4), "DCT", (4,), ["DCT", "RFFT"]),
        (np.ones(4, np.complex64), "RFFT", (4,), ["complex64[4]", "real"]),
        (np.ones(4, np.complex64), "FFT", (5,), ["complex64[4]", "(5,)"]),
        (np.ones(4, np.complex64), "IRFFT", (4,), ["complex64[4]", "(3,)"]),
        (np.ones(4, np.complex64), "FFT", (2, 2), ["complex64[4]", "(2, 2)"]),
        (np.ones((1, 1, 1, 1), np.complex64), "FFT", (1, 1, 1, 1), ["three"]),
    ],
)
def test_bad_arguments_are_named(x, kind, lengths, facts):
    with pytest.raises(ValueError, match="fft: given") as raised:
        lax.fft(x, kind, lengths)
    assert all(fact in str(raised.value) for fact in facts)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("kind", ["FFT", "RFFT"])
def test_whole_numbers_are_converted(dtype, kind):
    x = np.array([0, 1, 1, 0]).astype(dtype)
    found = lax.fft(x, kind, (4,))
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, getattr(np.fft, kind.lower())(x), atol=1e-6)
