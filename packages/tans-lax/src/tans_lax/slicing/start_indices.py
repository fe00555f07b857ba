"""Start indices of dynamic slices: one scalar per dimension, of one dtype, negatives wrapped."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_xla import composite

type Value = Any  # an array, a Python scalar or a tracer

_STATIC: Final = (int, np.integer)
_INT32_MAX: Final = 2**31 - 1


def canonical_starts(
    name: str,
    shape: tuple[int, ...],
    start_indices: Value | Sequence[Value],
    sizes: tuple[int, ...],
    allow_negative: bool | Sequence[bool] = True,
) -> list[Value]:
    """Return one scalar per dimension of `shape`, static ones as literals that fit."""
    starts = scalars_of(name, start_indices)
    if len(starts) != len(shape):
        raise ValueError(
            f"{name}: given {len(starts)} start indices, expected {len(shape)}, one per dimension "
            f"of the operand's shape {shape}. Pass 0 for dimensions that are taken whole."
        )
    dtype = _index_dtype(starts, shape)
    if dtype is None:  # not integers of one dtype: the type rule names them
        return starts
    wraps = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else allow_negative
    sizes = sizes if len(sizes) == len(shape) else shape
    return [
        _literal(start, dim, size, wrap, dtype)
        if isinstance(start, _STATIC)
        else _wrapped(start, dim, wrap, dtype)
        for start, dim, size, wrap in zip(starts, shape, sizes, wraps, strict=True)
    ]


def scalars_of(name: str, start_indices: Value | Sequence[Value]) -> list[Value]:
    """Split an index vector into scalars; a sequence is taken as it is."""
    if isinstance(start_indices, Sequence):
        return list(start_indices)
    aval = typeof(start_indices)
    if aval.ndim != 1:
        raise TypeError(
            f"{name}: given start indices of type {aval.str_short()}, expected a vector or a "
            "sequence with one integer per dimension. For one dimension, write (i,)."
        )
    if isinstance(start_indices, np.ndarray):
        return list(start_indices)
    return [lax.index_in_dim(start_indices, i, 0, keepdims=False) for i in range(aval.shape[0])]


@composite(static_argnames=("size", "dtype"))
def wrap_negative(index: Value, size: int, dtype: np.dtype) -> Value:
    """Return `index`, with `size` added where it is negative."""
    zero, length = dtype.type(0), dtype.type(size)
    return lax.select(lax.lt(index, zero), lax.add(index, length), index)


def fits_dtype(size: int, dtype: np.dtype) -> bool:
    """Whether every index of an axis of `size` elements, and the size, is a value of `dtype`."""
    return size <= np.iinfo(dtype).max


def _index_dtype(starts: Sequence[Value], shape: tuple[int, ...]) -> np.dtype | None:
    """Return the dtype the indices share, wide enough for the axes; None when they share none."""
    large = any(dim > _INT32_MAX for dim in shape)
    dtypes = {typeof(s).dtype for s in starts if not isinstance(s, _STATIC)}
    if not dtypes:
        return np.dtype(np.int64 if large else np.int32)
    dtype = dtypes.pop()
    if dtypes or not isinstance(dtype, np.dtype) or dtype.kind not in "iu":
        return None
    if all(fits_dtype(dim, dtype) for dim in shape):
        return dtype
    # An int8 index of a long axis would wrap in int8; NumPy widens, so do we.
    return np.dtype(np.int64 if large else np.int32)


def _literal(
    start: int | np.integer, dim: int, size: int, wrap: bool, dtype: np.dtype
) -> np.generic:
    value = int(start)
    if wrap and value < 0:
        value += dim
    return dtype.type(min(max(value, 0), max(dim - size, 0)))


def _wrapped(start: Value, dim: int, wrap: bool, dtype: np.dtype) -> Value:
    if typeof(start).dtype != dtype:
        start = lax.convert_element_type(start, dtype)
    return wrap_negative(start, dim, dtype) if wrap and dtype.kind == "i" else start
