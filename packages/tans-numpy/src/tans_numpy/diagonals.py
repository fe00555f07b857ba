"""Diagonals and triangles of matrices."""

import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_lax.mesh.specs import partitions_like
from tans_lax.sizes import size_value
from tans_numpy.creation import requested_dtype
from tans_numpy.dims import diagonal_offset
from tans_numpy.indexing import take
from tans_numpy.manipulation import moveaxis, ravel
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    scalar_of,
    strong,
    weak_as,
)
from tans_numpy.reductions import sum as sum_
from tans_xla import composite
from tans_xla.sizes import as_size, max_size, min_size

type Array = Any

_I32 = np.dtype(np.int32)


def _coordinates(shape: tuple[int, ...], sharding: Any = None) -> tuple[Array, Array]:
    n = len(shape)
    return (
        lax.broadcasted_iota(_I32, shape, n - 2, out_sharding=sharding),
        lax.broadcasted_iota(_I32, shape, n - 1, out_sharding=sharding),
    )


def _triangle(m: Array, *, k: int, lower: bool) -> Array:
    shape = typeof(m).shape
    rows, columns = _coordinates(shape, partitions_like(m))
    rows = lax.add(rows, np.int32(k))
    keep = lax.ge(rows, columns) if lower else lax.le(rows, columns)
    return lax.select(keep, m, lax.full_like(m, 0))


def _check_matrix(m: ArrayLike, name: str) -> None:
    check_arraylike(name, m)
    if typeof(m).ndim < 2:
        raise ValueError(
            f"{name}: given an array with {typeof(m).ndim} dimensions, expected at least 2."
        )


@composite(static_argnames=("k",))
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the lower triangle of matrices; zeros above the k-th diagonal.

    Args:
      m: [..., rows, columns].
      k: static diagonal; positive is above the main one.
    """
    _check_matrix(m, "tril")
    return _triangle(m, k=diagonal_offset(k), lower=True)


@composite(static_argnames=("k",))
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the upper triangle of matrices; zeros below the k-th diagonal.

    Args:
      m: [..., rows, columns].
      k: static diagonal; positive is above the main one.
    """
    _check_matrix(m, "triu")
    return _triangle(m, k=diagonal_offset(k), lower=False)


@composite(static_argnames=("shape", "k", "dtype"))
def _tri(*, shape: tuple[int, int], k: int, dtype: Any) -> Array:
    rows, columns = _coordinates(shape)
    return lax.convert_element_type(lax.ge(lax.add(rows, np.int32(k)), columns), dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Array:
    """Return a matrix with ones at and below the k-th diagonal."""
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, "tri")
    shape = (as_size(N), as_size(N if M is None else M))
    return _tri(shape=shape, k=diagonal_offset(k), dtype=target)


def _diagonal(a: Array, *, offset: int) -> Array:
    shape = typeof(a).shape
    rows, columns = shape[-2:]
    start_row, start_column = max(-offset, 0), max(offset, 0)
    n = max_size(min_size(rows - start_row, columns - start_column), 0)
    steps = lax.iota(_I32, n)
    flat = lax.reshape(a, (*shape[:-2], rows * columns))
    first = size_value(start_row * columns + start_column, _I32)
    index = lax.add(lax.mul(steps, size_value(columns + 1, _I32)), first)
    return (
        take(flat, index, axis=-1, mode="clip")
        if n
        else lax.full((*shape[:-2], 0), 0, typeof(a).dtype)
    )


@composite(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return diagonals of matrices, as the last dimension.

    Args:
      a: at least two dimensions.
      offset: static diagonal; positive is above the main one.
      axis1, axis2: the dimensions of the matrices.

    Raises:
      TypeError: equal axes.
      ValueError: fewer than two dimensions.
    """
    _check_matrix(a, "diagonal")
    n = typeof(a).ndim
    first, second = (canonicalize_axis(x, n, "diagonal") for x in (axis1, axis2))
    if first == second:
        raise TypeError(f"diagonal: given axis {axis1} twice, expected two dimensions.")
    matrices = moveaxis(strong(a), (first, second), (-2, -1))
    return _diagonal(matrices, offset=operator.index(offset))


def _from_diagonal(v: Array, *, k: int) -> Array:
    n = typeof(v).shape[0] + abs(k)
    rows, columns = _coordinates((n, n))
    on = lax.eq(lax.add(rows, np.int32(k)), columns)
    zero = scalar_of(0, typeof(v).dtype)
    padded = lax.pad(v, zero, ((max(k, 0), max(-k, 0), 0),))
    return lax.select(
        on, lax.broadcast_in_dim(padded, (n, n), (1,)), lax.full((n, n), 0, typeof(v).dtype)
    )


@composite(static_argnames=("k",))
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with a diagonal, or the diagonal of a matrix.

    Args:
      v: vector [n], or matrix.
      k: static diagonal; positive is above the main one.

    Raises:
      ValueError: neither a vector nor a matrix.
    """
    check_arraylike("diag", v)
    n = typeof(v).ndim
    if n == 1:
        return weak_as(_from_diagonal(v, k=operator.index(k)), v)
    if n == 2:
        return diagonal(v, k)
    raise ValueError(f"diag: given {n} dimensions, expected 1 (a diagonal) or 2 (a matrix).")


@composite(static_argnames=("k",))
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix whose diagonal is the flattened `v`."""
    return strong(diag(ravel(v), k))


@composite(static_argnames=("offset", "axis1", "axis2", "dtype", "out"))
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
    out: None = None,
) -> Array:  # fmt: skip
    """Return the sums of diagonals of matrices; see `diagonal`."""
    if out is not None:
        raise NotImplementedError("trace: given out=, expected None: arrays can't be written to.")
    _check_matrix(a, "trace")
    if len({canonicalize_axis(x, typeof(a).ndim, "trace") for x in (axis1, axis2)}) < 2:
        raise ValueError(f"trace: given axis {axis1} twice, expected two dimensions.")
    if not hasattr(offset, "__index__"):
        raise ValueError(f"trace: given offset={offset!r}, expected an integer. Round it first.")
    return sum_(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)
