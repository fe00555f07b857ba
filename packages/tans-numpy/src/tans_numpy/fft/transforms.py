"""Transforms over chosen axes: pad or crop, transform the last dimensions, scale.

The compiler transforms up to three trailing dimensions at once; more are done in turns.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax.fourier import FftType
from tans_numpy.manipulation import moveaxis
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
    strong,
)
from tans_xla import composite

type Array = Any
type Shape = Sequence[int]

_INVERSE: Final = (FftType.IFFT, FftType.IRFFT)
_NORMS: Final = (None, "backward", "ortho", "forward")


def _transform(
    name: str, kind: FftType, a: ArrayLike, s: Shape | None, axes: Any, norm: str | None
) -> Array:
    """Check the arguments and transform."""
    check_arraylike(name, a)
    aval = typeof(a)
    if norm not in _NORMS:
        raise ValueError(
            f"{name}: given norm={norm!r}, expected 'backward', 'ortho' or 'forward'. None means "
            "'backward'."
        )
    if kind is FftType.RFFT and np.issubdtype(aval.dtype, np.complexfloating):
        raise ValueError(
            f"{name}: given {aval.str_short(short_dtypes=False)}, expected real values: only real "
            "valued inputs are supported. Transform complex ones with fft or fftn."
        )
    lengths = None if s is None else tuple(map(operator.index, s))
    if axes is None:
        count = aval.ndim if lengths is None else len(lengths)
        axes = tuple(range(aval.ndim - count, aval.ndim))
    axes = canonicalize_axes(tuple(axes), aval.ndim, name)
    lengths = _lengths(name, kind, aval.shape, lengths, axes)
    return _apply(a, kind=kind, lengths=lengths, axes=axes, norm=norm)


def _lengths(
    name: str, kind: FftType, shape: Shape, lengths: tuple[int, ...] | None, axes: tuple[int, ...]
) -> tuple[int, ...]:
    if lengths is None:
        lengths = tuple(shape[axis] for axis in axes)
        if kind is FftType.IRFFT and lengths:
            lengths = (*lengths[:-1], max(0, 2 * (lengths[-1] - 1)))
        return lengths
    if len(lengths) != len(axes):
        raise ValueError(
            f"{name}: given lengths {lengths} for axes {axes}, expected one length for each axis. "
            "Give as many of both."
        )
    if any(n <= 0 for n in lengths):
        raise ValueError(
            f"{name}: given an array of shape {tuple(shape)} and lengths {lengths}, expected "
            "positive lengths. Shape should be positive along the axes."
        )
    return lengths


@composite(static_argnames=("kind", "lengths", "axes", "norm"))
def _apply(
    a: Array, *, kind: FftType, lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None
) -> Array:
    (a,) = promote_dtypes_inexact("fft", a)
    a = strong(a)
    if not axes and kind is FftType.RFFT:
        return a
    if typeof(a).dtype.itemsize < 4:
        a = lax.convert_element_type(a, np.float32)
    if not axes:
        return a if typeof(a).dtype.kind == "c" else lax.complex(a, lax.full_like(a, 0))
    last = tuple(range(typeof(a).ndim - len(axes), typeof(a).ndim))
    a = moveaxis(a, axes, last)
    held = lengths
    if kind is FftType.IRFFT:
        held = (*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0)
    a = _in_turns(_resized(a, held), kind, lengths)
    return moveaxis(_scaled(a, kind, lengths, norm), last, axes)


def _resized(a: Array, lengths: tuple[int, ...]) -> Array:
    """Crop the last dimensions, or pad them with zeros."""
    aval = typeof(a)
    first = aval.ndim - len(lengths)
    if aval.shape[first:] == lengths:
        return a
    amounts = [n - m for n, m in zip(lengths, aval.shape[first:], strict=True)]
    config = [(0, 0, 0)] * first + [(0, amount, 0) for amount in amounts]
    return lax.pad(a, aval.dtype.type(0), config)


def _in_turns(a: Array, kind: FftType, lengths: tuple[int, ...]) -> Array:
    if len(lengths) <= 3:
        return lax.fft(a, kind, lengths)
    inner, outer = lengths[-3:], lengths[:-3]
    if kind is FftType.IRFFT:  # its last dimension comes last
        return lax.fft(_outer(a, FftType.IFFT, outer), kind, inner)
    a = lax.fft(a, kind, inner)
    return _outer(a, FftType.FFT if kind is FftType.RFFT else kind, outer)


def _outer(a: Array, kind: FftType, lengths: tuple[int, ...]) -> Array:
    """Transform the dimensions in front of the last three."""
    ndim = typeof(a).ndim
    places = tuple(range(ndim - 3 - len(lengths), ndim - 3))
    last = tuple(range(ndim - len(lengths), ndim))
    return moveaxis(_in_turns(moveaxis(a, places, last), kind, lengths), last, places)


def _scaled(a: Array, kind: FftType, lengths: tuple[int, ...], norm: str | None) -> Array:
    size = math.prod(lengths) or 1  # of nothing, any multiple is right
    if norm == "ortho":
        factor = math.sqrt(size) if kind in _INVERSE else 1 / math.sqrt(size)
    elif norm == "forward":
        factor = size if kind in _INVERSE else 1 / size
    else:
        return a
    return lax.mul(a, typeof(a).dtype.type(factor))


def _check_axis(name: str, axis: Any) -> int:
    if isinstance(axis, tuple | list):
        raise ValueError(
            f"{name}: given axis={axis!r}, expected one axis. For several axes use fftn, ifftn, "
            "rfftn or irfftn."
        )
    return operator.index(axis)


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform along one axis.

    Args:
      a: any shape with at least one dimension.
      n: length, to which the axis is cropped or padded with zeros; None keeps it.
      axis: the axis.
      norm: "backward" (the default: the inverse divides by the length), "ortho" (both directions
        divide by its root) or "forward" (this direction divides).

    Returns:
      Complex array with `n` elements along the axis.

    Raises:
      ValueError: unknown `norm`, an axis out of range, or a length that isn't positive.

    Example:
      >>> fft(jnp.array([1.0, 0.0])).real.tolist()
      [1.0, 1.0]
    """
    return _along("fft.fft", FftType.FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Invert `fft`; arguments and errors are its own.

    Example:
      >>> ifft(jnp.array([1.0, 1.0])).real.tolist()
      [1.0, 0.0]
    """
    return _along("fft.ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform real numbers along one axis; arguments and further errors as for `fft`.

    Returns:
      Complex array with ``n // 2 + 1`` elements along the axis: the others are their conjugates.

    Raises:
      ValueError: complex numbers are given.

    Example:
      >>> rfft(jnp.ones(4)).real.tolist()
      [4.0, 0.0, 0.0]
    """
    return _along("fft.rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Invert `rfft`; arguments and errors as for `fft`.

    Returns:
      Real array with `n` elements along the axis; None means ``2 * (m - 1)`` for `m` given ones.

    Example:
      >>> irfft(jnp.array([4.0, 0.0, 0.0])).tolist()
      [1.0, 1.0, 1.0, 1.0]
    """
    return _along("fft.irfft", FftType.IRFFT, a, n, axis, norm)


def _along(
    name: str, kind: FftType, a: ArrayLike, n: int | None, axis: int, norm: str | None
) -> Array:
    return _transform(name, kind, a, None if n is None else (n,), (_check_axis(name, axis),), norm)


_SWAPPED: Final = {None: "forward", "backward": "forward", "forward": "backward"}


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform a signal whose second half is the conjugate of the first; arguments as for `fft`.

    Returns:
      Real array with `n` elements along the axis; None means ``2 * (m - 1)`` for `m` given ones.

    Example:
      >>> hfft(jnp.array([1.0, 0.0])).tolist()
      [1.0, 1.0]
    """
    check_arraylike("fft.hfft", a)
    conjugate = lax.conj(a) if typeof(a).dtype.kind == "c" else a
    return _along("fft.hfft", FftType.IRFFT, conjugate, n, axis, _SWAPPED.get(norm, norm))


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Invert `hfft`; arguments as for `fft`.

    Returns:
      Complex array with ``n // 2 + 1`` elements along the axis.

    Example:
      >>> ihfft(jnp.array([1.0, 1.0])).real.tolist()
      [1.0, 0.0]
    """
    return lax.conj(_along("fft.ihfft", FftType.RFFT, a, n, axis, _SWAPPED.get(norm, norm)))


def fftn(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """Transform along several axes.

    Args:
      a: any shape.
      s: lengths, to which the axes are cropped or padded with zeros; None keeps them.
      axes: the axes; None means all, or the last ``len(s)``.
      norm: as for `fft`.

    Returns:
      Complex array with sizes `s` along the axes.

    Raises:
      ValueError: unknown `norm`, an axis out of range or named twice, another number of lengths
        than axes, or one that isn't positive.

    Example:
      >>> fftn(jnp.ones((2, 3))).real.tolist()
      [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _transform("fft.fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """Invert `fftn`; arguments and errors are its own.

    Example:
      >>> ifftn(jnp.ones((2, 3))).shape
      (2, 3)
    """
    return _transform("fft.ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """Transform real numbers along several axes; arguments as for `fftn`.

    Returns:
      Complex array; the last of the axes has ``s[-1] // 2 + 1`` elements.

    Raises:
      ValueError: complex numbers are given, or as for `fftn`.

    Example:
      >>> rfftn(jnp.ones((2, 4))).shape
      (2, 3)
    """
    return _transform("fft.rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Array:
    """Invert `rfftn`; arguments and errors as for `fftn`.

    Returns:
      Real array with sizes `s` along the axes; None means ``2 * (m - 1)`` for the last of them.

    Example:
      >>> irfftn(jnp.ones((2, 3))).shape
      (2, 4)
    """
    return _transform("fft.irfftn", FftType.IRFFT, a, s, axes, norm)


def _over_two(
    name: str, kind: FftType, a: ArrayLike, s: Shape | None, axes: Sequence[int], norm: str | None
) -> Array:
    if len(axes) != 2:
        raise ValueError(
            f"{name}: given axes={tuple(axes)}, expected two. For another number of axes use "
            f"{name.removesuffix('2')}n."
        )
    return _transform(name, kind, a, s, axes, norm)


def fft2(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Do the same as `fftn` along two axes.

    Raises:
      ValueError: another number of axes, or as there.

    Example:
      >>> fft2(jnp.ones((2, 3))).shape
      (2, 3)
    """
    return _over_two("fft.fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Do the same as `ifftn` along two axes.

    Raises:
      ValueError: another number of axes, or as there.

    Example:
      >>> ifft2(jnp.ones((2, 3))).shape
      (2, 3)
    """
    return _over_two("fft.ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Do the same as `rfftn` along two axes.

    Raises:
      ValueError: another number of axes, or as there.

    Example:
      >>> rfft2(jnp.ones((2, 3))).shape
      (2, 2)
    """
    return _over_two("fft.rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike, s: Shape | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Do the same as `irfftn` along two axes.

    Raises:
      ValueError: another number of axes, or as there.

    Example:
      >>> irfft2(jnp.ones((2, 3))).shape
      (2, 4)
    """
    return _over_two("fft.irfft2", FftType.IRFFT, a, s, axes, norm)
