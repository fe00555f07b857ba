"""Derivatives of Fourier transforms: all are linear.

The matrix of FFT is symmetric, so FFT and IFFT are their own transposes. RFFT keeps the first
elements of the last dimension of FFT: its transpose pads with zeros and takes the real part. IRFFT
reads the inner elements of the last dimension twice, once conjugated: its transpose is RFFT with
weights one at the ends and two inside, over the number of elements; as always without conjugation
of the cotangent's sense: ``<ct, f(z)> = Re(ct f(z))``.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.fourier import FftType, fft, fft_p
from tans_lax.rows import linear_jvp, linear_transpose_of

type Value = Any


def _fft_transpose(
    ct: Value, x_aval: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> Value:
    if 0 in x_aval.shape:
        return lax.full(x_aval.shape, 0, x_aval.dtype)
    if fft_type is FftType.RFFT:
        return _rfft_transpose(ct, fft_lengths)
    if fft_type is FftType.IRFFT:
        return _irfft_transpose(ct, fft_lengths)
    return fft(ct, fft_type, fft_lengths)


def _rfft_transpose(ct: Value, lengths: tuple[int, ...]) -> Value:
    aval = typeof(ct)
    missing = lengths[-1] - aval.shape[-1]
    config = [(0, 0, 0)] * (aval.ndim - 1) + [(0, missing, 0)]
    full = lax.pad(ct, aval.dtype.type(0), config)
    return lax.real(fft(full, FftType.FFT, lengths))


def _irfft_transpose(ct: Value, lengths: tuple[int, ...]) -> Value:
    out = lax.conj(fft(ct, FftType.RFFT, lengths))
    aval = typeof(out)
    n, kept = lengths[-1], aval.shape[-1]
    place = lax.broadcasted_iota(np.dtype("int32"), aval.shape, aval.ndim - 1)
    # Element 0, and the middle one of an even length, are their own conjugates.
    inner = lax.bitwise_and(lax.gt(place, 0), lax.lt(place, n - kept + 1))
    once = aval.dtype.type(1 / math.prod(lengths))
    weights = lax.select(
        inner, lax.full(aval.shape, 2 * once, aval.dtype), lax.full(aval.shape, once, aval.dtype)
    )
    return lax.mul(weights, out)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    fft_p: linear_jvp(fft_p),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    fft_p: linear_transpose_of(_fft_transpose),
}
