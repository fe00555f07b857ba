"""Spectra of signals: short-time Fourier transforms, and densities by Welch's method."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)
from tans_scipy.signal_windows import get_window

type Array = Any


def _plan(
    name: str, window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, length: int
) -> tuple[Array, int, int, int]:
    """Return the window, and the lengths of segments, overlaps and transforms."""
    if isinstance(window, str | tuple):
        nperseg = min(256 if nperseg is None else int(nperseg), length)
        values = get_window(window, nperseg)
    else:
        values = jnp.asarray(window)
        if values.ndim != 1 or nperseg not in (None, values.shape[0]) or values.shape[0] > length:
            raise ValueError(
                f"{name}: given a window of shape {values.shape}, expected a vector of nperseg "
                f"elements, at most {length}. Leave nperseg out."
            )
        nperseg = values.shape[0]
    if nperseg < 1:
        raise ValueError(f"{name}: given nperseg={nperseg}, expected at least 1.")
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    nfft = nperseg if nfft is None else int(nfft)
    if noverlap >= nperseg or nfft < nperseg:
        raise ValueError(
            f"{name}: given noverlap={noverlap} and nfft={nfft} for segments of {nperseg}, "
            "expected a smaller overlap and a transform that is as long."
        )
    return values, nperseg, noverlap, nfft


def _segments(x: Array, nperseg: int, noverlap: int) -> Array:
    """Return the overlapping segments of the last dimension, [..., k, nperseg]."""
    starts = np.arange(0, x.shape[-1] - nperseg + 1, nperseg - noverlap)
    return x[..., starts[:, None] + np.arange(nperseg)]


def _detrended(name: str, x: Array, detrend: Any) -> Array:
    if callable(detrend):
        return detrend(x)
    if detrend is False or detrend is None:
        return x
    if detrend == "constant":
        return x - jnp.mean(x, -1, keepdims=True)
    if detrend == "linear":
        place = np.linspace(-1, 1, x.shape[-1]).astype(jnp.real(x).dtype)
        slope = x @ place / (place @ place if x.shape[-1] > 1 else 1)
        return x - jnp.mean(x, -1, keepdims=True) - slope[..., None] * place
    raise ValueError(
        f"{name}: given detrend={detrend!r}, expected 'constant', 'linear', False or a function."
    )


def _spectrum(segments: Array, window: Array, nfft: int, one_sided: bool) -> Array:
    values = segments * jnp.asarray(window, jnp.real(segments).dtype)
    return jnp.fft.rfft(values, nfft) if one_sided else jnp.fft.fft(values, nfft)


def _frequencies(nfft: int, fs: float, one_sided: bool) -> Array:
    found = np.fft.rfftfreq(nfft, 1 / fs) if one_sided else np.fft.fftfreq(nfft, 1 / fs)
    return jnp.asarray(found, dtypes.default_float())


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Estimate the cross power spectral density of two signals by Welch's method.

    Args:
      x, y: signals, shapes that broadcast but for `axis`, where the shorter is padded with zeros;
        `y` None stands for `x`.
      fs: samples per second.
      window: name, tuple of a name and parameters, or values [nperseg].
      nperseg: length of a segment; 256, or the length of the signal if that is less.
      noverlap: samples that neighbours share; half a segment if None.
      nfft: length of the transforms; `nperseg` if None.
      detrend: "constant", "linear", False, or a function of segments.
      return_onesided: whether to leave out negative frequencies, of real signals.
      scaling: "density" (per hertz) or "spectrum".
      axis: dimension of time.
      average: "mean" or "median" of the segments.

    Returns:
      Frequencies in hertz [f], and the density with `axis` replaced by frequencies.

    Raises:
      ValueError: lengths that do not fit, or unknown options.

    References:
      Welch, "The use of the fast Fourier transform for the estimation of power spectra", 1967.
    """
    check_arraylike("csd", x, *(() if y is None else (y,)))
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"csd: given scaling={scaling!r}, expected 'density' or 'spectrum'.")
    if average not in ("mean", "median"):
        raise ValueError(f"csd: given average={average!r}, expected 'mean' or 'median'.")
    x, other = promote_dtypes_inexact("csd", x, x if y is None else y)
    x, other = (jnp.moveaxis(jnp.asarray(v), axis, -1) for v in (x, other))
    length = max(x.shape[-1], other.shape[-1])
    x, other = (_padded(v, length) for v in (x, other))
    window, nperseg, noverlap, nfft = _plan("csd", window, nperseg, noverlap, nfft, length)
    one_sided = return_onesided and not dtypes.is_complex(x.dtype)
    spectra = [
        _spectrum(_detrended("csd", _segments(v, nperseg, noverlap), detrend), window, nfft,
                  one_sided)
        for v in ([x] if y is None else [x, other])
    ]  # fmt: skip
    power = jnp.conj(spectra[0]) * spectra[-1]
    weights = jnp.sum(window * window) * fs if scaling == "density" else jnp.sum(window) ** 2
    power = power / weights
    if one_sided:
        power = power.at[..., 1 : None if nfft % 2 else -1].multiply(2)
    power = jnp.real(power) if y is None else power
    power = jnp.mean(power, -2) if average == "mean" else _median(power)
    return _frequencies(nfft, fs, one_sided), jnp.moveaxis(power, -1, axis)


def _padded(x: Array, length: int) -> Array:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])])


def _median(power: Array) -> Array:
    """Return the median over segments, without the bias of an exponential distribution."""
    count = power.shape[-2]
    bias = 1 + np.sum([1 / (2 * k + 1) - 1 / (2 * k) for k in range(1, (count - 1) // 2 + 1)])
    if dtypes.is_complex(power.dtype):
        middle = lax.complex(jnp.median(power.real, -2), jnp.median(power.imag, -2))
    else:
        middle = jnp.median(power, -2)
    return middle / bias


def welch(
    x: ArrayLike,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Estimate the power spectral density of a signal by Welch's method.

    Args:
      x: signal, any shape.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average: see
        `csd`.

    Returns:
      Frequencies in hertz [f], and the real density with `axis` replaced by frequencies.

    Raises:
      ValueError: lengths that do not fit, or unknown options.
    """
    return csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip


_BOUNDARIES = ("zeros", "even", "odd", "constant", None)
_PAD_MODES = {"zeros": "constant", "constant": "edge", "even": "reflect"}


def _extended(x: Array, boundary: str | None, count: int) -> Array:
    if boundary is None or not count:
        return x
    widths = [(0, 0)] * (x.ndim - 1) + [(count, count)]
    if boundary == "odd":
        return jnp.pad(x, widths, mode="reflect", reflect_type="odd")
    return jnp.pad(x, widths, mode=_PAD_MODES[boundary])


def stft(
    x: ArrayLike,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Compute the short-time Fourier transform.

    Args:
      x: signal, any shape.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: see `csd`.
      boundary: "zeros", "even", "odd", "constant": how half a segment is added at each end; None
        adds nothing.
      padded: whether zeros are added so that whole segments fit.
      axis: dimension of time.

    Returns:
      Frequencies in hertz [f], times of the segments in seconds [t], and the transform with `axis`
      replaced by frequencies and times as the last dimension.

    Raises:
      ValueError: lengths that do not fit, or unknown options.
    """
    check_arraylike("stft", x)
    if boundary not in _BOUNDARIES:
        raise ValueError(f"stft: given boundary={boundary!r}, expected one of {_BOUNDARIES}.")
    (x,) = promote_dtypes_inexact("stft", x)
    axis = canonicalize_axis(axis, typeof(x).ndim, "stft")
    x = jnp.moveaxis(jnp.asarray(x), axis, -1)
    window, nperseg, noverlap, nfft = _plan("stft", window, nperseg, noverlap, nfft, x.shape[-1])
    x = _extended(x, boundary, nperseg // 2)
    step = nperseg - noverlap
    if padded:
        x = _padded(x, x.shape[-1] + (-(x.shape[-1] - nperseg) % step) % nperseg)
    one_sided = return_onesided and not dtypes.is_complex(x.dtype)
    parts = _detrended("stft", _segments(x, nperseg, noverlap), detrend)
    out = _spectrum(parts, window, nfft, one_sided) / jnp.sum(window).astype(jnp.real(x).dtype)
    times = np.arange(nperseg / 2, x.shape[-1] - nperseg / 2 + 1, step) / fs
    times = times - nperseg / 2 / fs if boundary is not None else times
    out = jnp.moveaxis(jnp.swapaxes(out, -1, -2), -2, axis)
    return _frequencies(nfft, fs, one_sided), jnp.asarray(times, dtypes.default_float()), out


def istft(
    Zxx: ArrayLike,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Invert the short-time Fourier transform by overlapping sums of the segments.

    Args:
      Zxx: transform, at least two dimensions.
      fs, window, nperseg, noverlap, nfft: as they were given to `stft`.
      input_onesided: whether negative frequencies are left out.
      boundary: whether half a segment was added at each end, which is cut off.
      time_axis, freq_axis: dimensions of segments and of frequencies.

    Returns:
      Times in seconds [n], and the signal with time as the last dimension.

    Raises:
      ValueError: lengths that do not fit.

    References:
      Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984.
    """
    check_arraylike("istft", Zxx)
    ndim = typeof(Zxx).ndim
    if ndim < 2 or canonicalize_axis(time_axis, ndim, "istft") == canonicalize_axis(
        freq_axis, ndim, "istft"
    ):
        raise ValueError(
            f"istft: given {ndim} dimensions, time_axis={time_axis} and freq_axis={freq_axis}, "
            "expected two different dimensions."
        )
    z = jnp.moveaxis(jnp.asarray(Zxx), (time_axis, freq_axis), (-2, -1))
    default = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    if nperseg is None:
        nperseg = default if isinstance(window, str | tuple) else typeof(window).shape[0]
    nfft = (
        (nperseg if input_onesided and nperseg == default + 1 else default)
        if nfft is None
        else nfft
    )
    window, nperseg, noverlap, nfft = _plan("istft", window, nperseg, noverlap, nfft, int(nperseg))
    parts = jnp.fft.irfft(z, nfft) if input_onesided else jnp.fft.ifft(z, nfft)
    parts = parts[..., :nperseg]
    window = jnp.asarray(window, jnp.real(parts).dtype)
    step, count = nperseg - noverlap, parts.shape[-2]
    length = nperseg + (count - 1) * step
    places = step * np.arange(count)[:, None] + np.arange(nperseg)
    total = jnp.zeros((*parts.shape[:-2], length), parts.dtype)
    total = total.at[..., places].add(parts * window * jnp.sum(window))
    weights = (
        jnp.zeros(length, window.dtype)
        .at[places]
        .add(jnp.broadcast_to(window * window, places.shape))
    )
    if boundary:
        half = nperseg // 2
        total, weights = total[..., half : length - half], weights[half : length - half]
    out = total / jnp.where(weights > 1e-10, weights, 1)
    return jnp.asarray(np.arange(out.shape[-1]) / fs, dtypes.default_float()), out
