"""Cosine transforms, through Fourier transforms of half the usual length."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)
from tans_scipy.special.operands import refuse_complex
from tans_xla import composite

__all__ = ("dct", "dctn", "idct", "idctn")

type Array = Any


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Compute the discrete cosine transform along a dimension.

    Args:
      x: any shape, real; integers become floats, half precision becomes float32.
      type: 2, the usual one, or 3, its inverse but for a factor.
      n: size along `axis` to pad with zeros or cut to first.
      axis: the dimension.
      norm: "backward" or None scales nothing, "ortho" makes the transform orthogonal, "forward"
        divides by twice the size.

    Returns:
      Array of the shape of `x`, with size `n` along `axis`.

    Raises:
      NotImplementedError: another type.
      ValueError: complex operand, another norm, or size 0.

    Example:
      >>> dct(jnp.ones(2)).tolist()
      [4.0, 0.0]

    References:
      Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    """
    return _along("dct", x, type, n, axis, norm, inverse=False)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Compute the inverse of `dct` with the same arguments.

    Args:
      x, type, n, axis, norm: see `dct`.

    Example:
      >>> idct(jnp.array([4.0, 0.0])).tolist()
      [1.0, 1.0]
    """
    return _along("idct", x, type, n, axis, norm, inverse=True)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Compute the cosine transform along several dimensions.

    Args:
      x: any shape, real.
      type, norm: see `dct`.
      s: sizes along `axes` to pad or cut to.
      axes: the dimensions; all, or the last ``len(s)``, if None.
    """
    return _several("dctn", x, type, s, axes, norm, inverse=False)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Compute the inverse of `dctn` with the same arguments.

    Args:
      x, type, s, axes, norm: see `dctn`.
    """
    return _several("idctn", x, type, s, axes, norm, inverse=True)


def _several(
    name: str, x: Any, type: int, s: Any, axes: Any, norm: str | None, *, inverse: bool
) -> Array:
    check_arraylike(name, x)
    ndim = typeof(x).ndim
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise ValueError(
            f"{name}: given {len(sizes)} sizes for {len(axes)} axes, expected as many. Give axes=."
        )
    for axis, n in zip(axes, sizes, strict=True):
        x = _along(name, x, type, n, axis, norm, inverse=inverse)
    return x


def _along(
    name: str, x: Any, type: int, n: int | None, axis: int, norm: str | None, *, inverse: bool
) -> Array:
    check_arraylike(name, x)
    if type not in (2, 3):
        raise NotImplementedError(
            f"{name}: given type={type}, expected 2 or 3. Use jnp.fft.rfft of the mirrored values "
            "for the other types."
        )
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(
            f"{name}: given norm={norm!r}, expected None, 'backward', 'ortho' or 'forward'."
        )
    refuse_complex(name, x)
    axis = canonicalize_axis(axis, typeof(x).ndim, name)
    size = typeof(x).shape[axis] if n is None else operator.index(n)
    if size < 1:
        raise ValueError(f"{name}: given {size} values along axis {axis}, expected at least 1.")
    return _transform(x, n=size, axis=axis, norm=norm, to_cosines=(type == 2) != inverse,
                      divided=inverse)  # fmt: skip


@composite(static_argnames=("n", "axis", "norm", "to_cosines", "divided"))
def _transform(
    x: Any, *, n: int, axis: int, norm: str | None, to_cosines: bool, divided: bool
) -> Array:
    """Transform; a plain inverse is `divided` by twice the size, which a forward norm moves."""
    (x,) = promote_dtypes_inexact("dct", x)
    x = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    x = jnp.moveaxis(x, axis, -1)[..., :n]
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])
    scale = np.full(n, np.sqrt(1 / (2 * n)))
    scale[0] = np.sqrt(1 / (4 * n))
    scale = scale.astype(x.dtype)
    if to_cosines:
        out = _cosines(x)
        out = out * scale if norm == "ortho" else out
    elif norm == "ortho":
        return jnp.moveaxis(_values(x / scale), -1, axis)
    else:
        out = _values(x) * (2 * n)
    if norm != "ortho" and divided != (norm == "forward"):
        out = out / (2 * n)
    return jnp.moveaxis(out, -1, axis)


def _angles(n: int, dtype: Any) -> np.ndarray:
    angle = np.exp(-0.5j * np.pi * np.arange(n) / n)
    return angle.astype(np.result_type(dtype, np.complex64))


def _cosines(x: Array) -> Array:
    """Type 2: elements with even index, then those with odd index backwards, are transformed."""
    n = x.shape[-1]
    folded = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    return 2 * jnp.real(jnp.fft.fft(folded) * _angles(n, x.dtype)).astype(x.dtype)


def _values(y: Array) -> Array:
    """Invert `_cosines`, by the same steps backwards."""
    n = y.shape[-1]
    mirrored = jnp.concatenate([jnp.zeros_like(y[..., :1]), y[..., :0:-1]], -1)
    spectrum = (y - 1j * mirrored) * (0.5 * np.conj(_angles(n, y.dtype)))
    folded = jnp.real(jnp.fft.ifft(spectrum)).astype(y.dtype)
    half = (n + 1) // 2
    out = jnp.zeros_like(y).at[..., ::2].set(folded[..., :half])
    return out.at[..., 1::2].set(folded[..., half:][..., ::-1])
