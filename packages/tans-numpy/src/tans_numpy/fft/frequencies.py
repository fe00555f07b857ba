"""Frequencies of the discrete Fourier transform, and the order they are stored in."""

from collections.abc import Sequence
from typing import Any

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_lax.sizes import size_value
from tans_numpy.creation import requested_dtype
from tans_numpy.operands import ArrayLike, canonicalize_axes, check_arraylike
from tans_numpy.rearrangement import roll
from tans_numpy.ufuncs.arithmetic import divide
from tans_xla import composite, device_put
from tans_xla.sizes import as_size

type Array = Any


@composite(static_argnames=("n", "dtype", "half"))
def _frequencies(d: Any, *, n: int, dtype: Any, half: bool) -> Array:
    if half:
        k = lax.iota(dtype, n // 2 + 1)
    else:
        k = lax.iota(dtype, n)
        k = lax.select(k < size_value((n + 1) // 2, dtype), k, k - size_value(n, dtype))
    return lax.convert_element_type(divide(divide(k, n), d), dtype)


def _spaced(name: str, n: int, d: Any, dtype: Any, device: Any, half: bool) -> Array:
    check_arraylike(name, d)
    try:
        n = as_size(n)
    except TypeError:
        raise TypeError(f"{name}: given n={n!r}, expected an integer. Round it first.") from None
    if n < 0 or (typeof(d).ndim and typeof(d).size != 1):
        raise ValueError(
            f"{name}: given n={n} and a spacing of shape {typeof(d).shape}, expected n of at least "
            "0 and a scalar."
        )
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, name)
    out = _frequencies(d, n=n, dtype=target, half=half)
    return out if device is None else device_put(out, device)


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of a transform, in cycles per unit of the spacing.

    Args:
      n: static number of samples.
      d: spacing of the samples, a scalar.
      dtype: dtype of the result.
      device: device or sharding to put the result on.

    Raises:
      ValueError: `n` is negative.
    """
    return _spaced("fftfreq", n, d, dtype, device, half=False)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of a transform of real samples; arguments as for `fftfreq`."""
    return _spaced("rfftfreq", n, d, dtype, device, half=True)


def _shift(x: ArrayLike, axes: Any, name: str, sign: int) -> Array:
    check_arraylike(name, x)
    chosen = canonicalize_axes(axes, typeof(x).ndim, name)
    shifts = tuple(sign * (typeof(x).shape[i] // 2) for i in chosen)
    return roll(x, shifts, chosen) if chosen else roll(x, 0)


@composite(static_argnames=("axes",))
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency to the middle.

    Args:
      x: any shape.
      axes: int or ints; all if None.
    """
    return _shift(x, axes, "fftshift", 1)


@composite(static_argnames=("axes",))
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency from the middle to the front: the inverse of `fftshift`.

    Args:
      x: any shape.
      axes: int or ints; all if None.
    """
    return _shift(x, axes, "ifftshift", -1)
