"""Convolution, correlation and removal of trends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    promote_dtypes_inexact,
)
from tans_scipy.spectra import csd, istft, stft, welch
from tans_xla import composite

__all__ = (
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
)

type Array = Any

_MODES = ("full", "same", "valid")


def _check(name: str, mode: str, in1: Array, in2: Array, ndim: int | None = None) -> None:
    if mode not in _MODES:
        raise ValueError(
            f"{name}: given mode={mode!r}, expected 'full', 'same' or 'valid'. Use 'full'."
        )
    ranks = typeof(in1).ndim, typeof(in2).ndim
    if ranks[0] != ranks[1] or (ndim is not None and ranks[0] != ndim):
        raise ValueError(
            f"{name}: given operands of rank {ranks[0]} and {ranks[1]}, expected "
            f"{'equal ranks' if ndim is None else f'rank {ndim}'}. Add dimensions with x[None]."
        )
    if 0 in (*typeof(in1).shape, *typeof(in2).shape):
        raise ValueError(
            f"{name}: given operands of shapes {typeof(in1).shape} and {typeof(in2).shape}, "
            "expected at least one element in each. Leave empty operands out."
        )


def _is_inside(inner: Array, outer: Array) -> bool:
    sizes = zip(typeof(inner).shape, typeof(outer).shape, strict=True)
    return all(n <= m for n, m in sizes)


@composite(static_argnames=("mode", "precision", "late"))
def _convolve(in1: Array, in2: Array, *, mode: str, precision: Any, late: bool = False) -> Array:
    # For even sizes the centre lies between two elements; `late` takes the second.
    if mode == "valid" and not _is_inside(in2, in1):
        in1, in2 = in2, in1
    sizes = typeof(in2).shape
    pads = [(n - 1, n - 1) for n in sizes]
    if mode == "same":
        pads = [(n // 2, (n - 1) - n // 2) for n in sizes]
        pads = [pair[::-1] for pair in pads] if late else pads
    elif mode == "valid":
        pads = [(0, 0)] * len(sizes)
    reversed_ = lax.rev(in2, tuple(range(len(sizes))))
    out = lax.conv_general_dilated(
        in1[None, None], reversed_[None, None], (1,) * len(sizes), pads, precision=precision
    )
    return out[0, 0]


def _operands(name: str, in1: Any, in2: Any) -> tuple[Array, Array]:
    in1, in2 = promote_dtypes_inexact(name, in1, in2)
    return jnp.asarray(in1), jnp.asarray(in2)


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """Convolve two arrays along all dimensions.

    Args:
      in1: any shape; integers become floats.
      in2: the same rank.
      mode: "full"; "same" for the central part of the shape of `in1`; "valid" for what does not
        depend on zeros beyond the edges.
      method: "direct", "fft", or "auto", which is "direct".
      precision: precision of the products.

    Raises:
      ValueError: unknown mode or method, different ranks, or empty operands.

    Example:
      >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).tolist()
      [1.0, 3.0, 2.0]
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(
            f"convolve: given method={method!r}, expected 'auto', 'direct' or 'fft'. Leave it out."
        )
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    in1, in2 = _operands("convolve", in1, in2)
    _check("convolve", mode, in1, in2)
    return _convolve(in1, in2, mode=mode, precision=precision)


def convolve2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill",
    fillvalue: float = 0, precision: Any = None,
) -> Array:  # fmt: skip
    """Convolve two matrices.

    Args:
      in1: [m, n]; integers become floats.
      in2: [k, l].
      mode: as in `convolve`.
      boundary: only "fill".
      fillvalue: only 0.
      precision: precision of the products.

    Raises:
      ValueError: unknown mode, or operands that are not matrices.
      NotImplementedError: another boundary or fill value.

    Example:
      >>> convolve2d(jnp.ones((2, 2)), jnp.ones((2, 2)), mode="valid").tolist()
      [[4.0]]
    """
    _check_boundary("convolve2d", boundary, fillvalue)
    in1, in2 = _operands("convolve2d", in1, in2)
    _check("convolve2d", mode, in1, in2, 2)
    return _convolve(in1, in2, mode=mode, precision=precision)


def _check_boundary(name: str, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}: given boundary={boundary!r} and fillvalue={fillvalue}, expected 'fill' and 0."
            " Pad in1 with jnp.pad first."
        )


def _mirrored(x: Array) -> Array:
    x = lax.conj(x) if dtypes.is_complex(typeof(x).dtype) else x
    return lax.rev(x, tuple(range(typeof(x).ndim)))


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """Correlate two arrays along all dimensions.

    Args:
      in1: any shape; integers become floats.
      in2: the same rank.
      mode: as in `convolve`.
      method: as in `convolve`.
      precision: precision of the products.

    Raises:
      ValueError: unknown mode or method, different ranks, or empty operands.

    Example:
      >>> correlate(jnp.array([1.0, 2.0]), jnp.array([1.0, 0.0])).tolist()
      [0.0, 1.0, 2.0]
    """
    in1, in2 = _operands("correlate", in1, in2)
    return convolve(in1, _mirrored(in2), mode, method, precision)


def correlate2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill",
    fillvalue: float = 0, precision: Any = None,
) -> Array:  # fmt: skip
    """Correlate two matrices.

    Args:
      in1: [m, n]; integers become floats.
      in2: [k, l].
      mode: as in `convolve`.
      boundary: only "fill".
      fillvalue: only 0.
      precision: precision of the products.

    Raises:
      ValueError: unknown mode, or operands that are not matrices.
      NotImplementedError: another boundary or fill value.

    Example:
      >>> correlate2d(jnp.ones((2, 2)), jnp.ones((2, 2)), mode="valid").tolist()
      [[4.0]]
    """
    _check_boundary("correlate2d", boundary, fillvalue)
    in1, in2 = _operands("correlate2d", in1, in2)
    _check("correlate2d", mode, in1, in2, 2)
    return _convolve(in1, _mirrored(in2), mode=mode, precision=precision, late=True)


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Array:
    """Convolve two arrays by Fourier transforms.

    Args:
      in1: any shape; integers become floats.
      in2: the same rank; other dimensions than `axes` broadcast.
      mode: as in `convolve`.
      axes: dimensions to convolve along; None means all.

    Raises:
      ValueError: unknown mode, different ranks, or empty operands.

    Example:
      >>> fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round().tolist()
      [1.0, 3.0, 2.0]
    """
    in1, in2 = _operands("fftconvolve", in1, in2)
    _check("fftconvolve", mode, in1, in2)
    return _fftconvolve(in1, in2, mode=mode, axes=canonicalize_axes(axes, in1.ndim, "fftconvolve"))


@composite(static_argnames=("mode", "axes"))
def _fftconvolve(in1: Array, in2: Array, *, mode: str, axes: tuple[int, ...]) -> Array:
    if mode == "valid" and any(in2.shape[i] > in1.shape[i] for i in axes):
        in1, in2 = in2, in1
    sizes = [in1.shape[i] + in2.shape[i] - 1 for i in axes]
    if dtypes.is_complex(in1.dtype):
        product = jnp.fft.fftn(in1, sizes, axes) * jnp.fft.fftn(in2, sizes, axes)
        out = jnp.fft.ifftn(product, sizes, axes)
    else:
        product = jnp.fft.rfftn(in1, sizes, axes) * jnp.fft.rfftn(in2, sizes, axes)
        out = jnp.fft.irfftn(product, sizes, axes)
    for i in axes if mode != "full" else ():
        n, m = in1.shape[i], in2.shape[i]
        start, size = ((m - 1) // 2, n) if mode == "same" else (m - 1, n - m + 1)
        out = lax.slice_in_dim(out, start, start + size, axis=i)
    return out


def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: Any = 0,
    overwrite_data: None = None,
) -> Array:  # fmt: skip
    """Subtract the mean, or the straight line of least squares.

    Args:
      data: any shape; integers become floats.
      axis: the dimension of time.
      type: "linear" or "constant".
      bp: for "linear", where new lines begin.
      overwrite_data: not supported.

    Raises:
      ValueError: an unknown type, or a beginning beyond the data.
      NotImplementedError: `overwrite_data` is given.

    Example:
      >>> detrend(jnp.array([1.0, 3.0]), type="constant").tolist()
      [-1.0, 1.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "detrend: given overwrite_data, expected None: arrays can't be written to. Use the "
            "result."
        )
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: given type={type!r}, expected 'linear' or 'constant'. Use one.")
    (data,) = promote_dtypes_inexact("detrend", data)
    axis = canonicalize_axis(axis, typeof(data).ndim, "detrend")
    size = typeof(data).shape[axis]
    if type == "constant":
        return data - jnp.mean(data, axis, keepdims=True)
    breaks = np.unique(np.r_[0, np.atleast_1d(bp), size]).astype(int)
    if breaks[-1] > size:
        raise ValueError(
            f"detrend: given a beginning at {breaks[-1]}, expected at most {size}, the size of the "
            "data. Drop it."
        )
    bounds = tuple(zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True))
    return _without_lines(data, axis=axis, bounds=bounds)


@composite(static_argnames=("axis", "bounds"))
def _without_lines(data: Array, *, axis: int, bounds: tuple[tuple[int, int], ...]) -> Array:
    data = jnp.moveaxis(data, axis, -1)
    parts = []
    for start, stop in bounds:
        part = data[..., start:stop]
        part = part - jnp.mean(part, -1, keepdims=True)
        time = np.arange(stop - start) - (stop - start - 1) / 2
        norm = max(float(np.sum(time * time)), 1e-30)
        time = time.astype(part.dtype)
        slope = jnp.sum(part * time, -1, keepdims=True) / norm
        parts.append(part - slope * time)
    return jnp.moveaxis(jnp.concatenate(parts, -1), -1, axis)
