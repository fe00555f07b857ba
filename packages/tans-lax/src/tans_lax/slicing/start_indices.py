"""Start indices of dynamic slices: one scalar per dimension, of one dtype, negatives wrapped."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.dtype_queries import issubdtype
from tans_lax.sizes import size_value
from tans_xla import composite
from tans_xla.sizes import (
    Size,
    as_size,
    is_always_at_least,
    is_symbolic,
    max_size,
    min_size,
)

type Value = Any  # an array, a Python scalar or a tracer

_STATIC: Final = (int, np.integer)
_INT32: Final = np.dtype(np.int32)
_INT32_MAX: Final = 2**31 - 1


def canonical_starts(
    name: str,
    shape: tuple[int, ...],
    start_indices: Value | Sequence[Value],
    sizes: tuple[int, ...],
    allow_negative: bool | Sequence[bool] = True,
) -> list[Value]:
    """Return one scalar per dimension of `shape`, static ones as literals that fit.

    Raises:
      ValueError: there are too few or too many, or a static one is negative and must not be.
    """
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
        _literal(name, start, dim, size, wrap, dtype)
        if _is_static(start)
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
def wrap_negative(index: Value, size: Size, dtype: np.dtype) -> Value:
    """Return `index`, with `size` added where it is negative."""
    zero, length = dtype.type(0), size_value(size, dtype)
    return lax.select(lax.lt(index, zero), lax.add(index, length), index)


def fits_dtype(size: Size, dtype: np.dtype) -> bool:
    """Whether every index of an axis of `size` elements, and the size, is a value of `dtype`."""
    return (_INT32_MAX if is_symbolic(size) else size) <= np.iinfo(dtype).max


def wide_dtype(shape: Sequence[Size]) -> np.dtype:
    """Return the signed dtype of at least 32 bits that all indices of axes of these sizes fit."""
    return np.dtype(np.int32 if all(fits_dtype(n, _INT32) for n in shape) else np.int64)


def _index_dtype(starts: Sequence[Value], shape: tuple[int, ...]) -> np.dtype | None:
    """Return the dtype the indices share, wide enough for the axes; None when they share none."""
    dtypes = {typeof(s).dtype for s in starts if not _is_static(s)}
    if not dtypes:
        return wide_dtype(shape)
    dtype = dtypes.pop()
    if dtypes or not issubdtype(dtype, np.integer):
        return None
    if dtype.kind != "V" and all(fits_dtype(dim, dtype) for dim in shape):
        return dtype
    # An int8 index of a long axis would wrap in int8; NumPy widens, so do we. So do ints of 4 bits.
    return wide_dtype(shape)


def _is_static(start: Value) -> bool:
    return isinstance(start, _STATIC) or is_symbolic(start)


def _literal(
    name: str, start: Size, dim: Size, size: Size, wrap: bool, dtype: np.dtype
) -> Value:  # fmt: skip
    start = as_size(start)
    if not wrap and isinstance(start, int) and start < 0:
        raise ValueError(
            f"{name}: given the start index {start} with allow_negative_indices=False, expected 0 "
            f"to {dim}. Leave the option out to count from the end."
        )
    if wrap and is_always_at_least(-1, start):
        start += dim
    return size_value(min_size(max_size(start, 0), max_size(dim - size, 0)), dtype)


def _wrapped(start: Value, dim: Size, wrap: bool, dtype: np.dtype) -> Value:
    if typeof(start).dtype != dtype:
        start = lax.convert_element_type(start, dtype)
    return wrap_negative(start, dim, dtype) if wrap and dtype.kind == "i" else start
