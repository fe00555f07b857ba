"""Bytes to bits and back: packbits, unpackbits."""

import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_numpy.manipulation import moveaxis, ravel
from tans_numpy.operands import ArrayLike, canonicalize_axis, check_arraylike, is_discrete
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite

type Array = Any

_U8 = np.dtype(np.uint8)


def _check_order(bitorder: str, name: str) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: given bitorder={bitorder!r}, expected 'big' or 'little'.")


def _places(bitorder: str) -> np.ndarray:
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def _packbits(a: Array, *, axis: int, bitorder: str) -> Array:
    bits = moveaxis(lax.convert_element_type(as_bool(a), _U8), axis, -1)
    dims = typeof(bits).shape
    count = -(-dims[-1] // 8)
    config = [(0, 0, 0)] * (len(dims) - 1) + [(0, 8 * count - dims[-1], 0)]
    bits = lax.pad(bits, np.uint8(0), config)
    bits = lax.reshape(bits, (*dims[:-1], count, 8))
    packed = lax.reduce_sum(lax.convert_element_type(bits << _places(bitorder), _U8), (len(dims),))
    return moveaxis(packed, -1, axis)


@composite(static_argnames=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack booleans, eight to a byte; zeros fill up the last one.

    Args:
      a: booleans or integers, any shape.
      axis: the dimension; None packs the flattened array.
      bitorder: "big" (the first one is the highest bit) or "little".

    Raises:
      TypeError: other dtypes.
      ValueError: unknown order.
    """
    check_arraylike("packbits", a)
    if not is_discrete(typeof(a).dtype):
        raise TypeError(f"packbits: given {typeof(a).dtype}, expected booleans or integers.")
    _check_order(bitorder, "packbits")
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    return _packbits(a, axis=canonicalize_axis(axis, typeof(a).ndim, "packbits"), bitorder=bitorder)


def _unpackbits(a: Array, *, axis: int, count: int | None, bitorder: str) -> Array:
    a = moveaxis(a, axis, -1)
    bits = (a[..., None] >> _places(bitorder)) & 1
    bits = lax.reshape(bits, (*typeof(a).shape[:-1], typeof(a).shape[-1] * 8))
    if count is not None:
        n, last = typeof(bits).shape[-1], typeof(bits).ndim - 1
        if count <= n:
            bits = lax.slice_in_dim(bits, 0, count if count >= 0 else max(n + count, 0), 1, last)
        else:
            bits = lax.pad(bits, np.uint8(0), [(0, 0, 0)] * last + [(0, count - n, 0)])
    return moveaxis(bits, -1, axis)


@composite(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpack the bits of bytes.

    Args:
      a: uint8, any shape.
      axis: the dimension; None unpacks the flattened array.
      count: static number of bits to return; negative leaves that many out.
      bitorder: "big" (the highest bit comes first) or "little".

    Raises:
      TypeError: not uint8.
      ValueError: unknown order.
    """
    check_arraylike("unpackbits", a)
    if typeof(a).dtype != _U8:
        raise TypeError(f"unpackbits: given {typeof(a).dtype}, expected uint8.")
    _check_order(bitorder, "unpackbits")
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    count = None if count is None else operator.index(count)
    axis = canonicalize_axis(axis, typeof(a).ndim, "unpackbits")
    return _unpackbits(a, axis=axis, count=count, bitorder=bitorder)
