"""Operations on stacks of matrices that the derivatives and public functions are written with.

A stack has shape ``[*batch, m, n]``.
"""

from typing import Any

import numpy as np

from tans_core import typeof
from tans_lax.contractions import batch_matmul
from tans_lax.contractions.precision import Precision
from tans_lax.conversion import as_type, convert_element_type
from tans_lax.creation import broadcasted_iota, full_like
from tans_lax.elementwise.arithmetic import add, div, mul
from tans_lax.elementwise.comparison import eq, ge
from tans_lax.elementwise.complex_parts import conj, real
from tans_lax.elementwise.selection import select
from tans_lax.mesh.specs import partitions_like
from tans_lax.reductions import reduce_sum
from tans_lax.shape import broadcast_in_dim, transpose
from tans_lax.slicing import slice_in_dim
from tans_xla.sizes import min_size

type Value = Any  # an array or a tracer


def transposed(x: Value) -> Value:
    """Return ``x^T``."""
    ndim = typeof(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conjugate(x: Value) -> Value:
    """Return the complex conjugate; a real array is returned as it is."""
    return conj(x) if typeof(x).dtype.kind == "c" else x


def adjoint(x: Value) -> Value:
    """Return ``x^H``."""
    return conjugate(transposed(x))


def matmul(x: Value, y: Value) -> Value:
    """Return ``x @ y`` in full precision."""
    return batch_matmul(x, y, Precision.HIGHEST)


def real_part(x: Value) -> Value:
    """Return the real part; a real array is returned as it is."""
    return real(x) if typeof(x).dtype.kind == "c" else x


def lower_mask(x: Value, offset: int = 0) -> Value:
    """Return where the column minus the row is at most `offset`, of the shape of `x`."""
    shape = typeof(x).shape
    ndim, int32 = len(shape), np.dtype("int32")
    lies = partitions_like(x)
    rows = broadcasted_iota(int32, shape, ndim - 2, out_sharding=lies)
    columns = broadcasted_iota(int32, shape, ndim - 1, out_sharding=lies)
    return ge(add(rows, offset) if offset else rows, columns)


def lower_part(x: Value, offset: int = 0) -> Value:
    """Return `x` with zeros above a diagonal."""
    return select(lower_mask(x, offset), x, full_like(x, 0))


def upper_part(x: Value, offset: int = 0) -> Value:
    """Return `x` with zeros below a diagonal."""
    return select(lower_mask(x, offset - 1), full_like(x, 0), x)


def diagonal_mask(x: Value) -> Value:
    """Return where the row equals the column, of the shape of `x`."""
    shape = typeof(x).shape
    ndim, int32 = len(shape), np.dtype("int32")
    lies = partitions_like(x)
    rows = broadcasted_iota(int32, shape, ndim - 2, out_sharding=lies)
    return eq(rows, broadcasted_iota(int32, shape, ndim - 1, out_sharding=lies))


def diagonal(x: Value) -> Value:
    """Return the diagonals ``[*batch, min(m, n)]``."""
    *_, m, n = typeof(x).shape
    k = min_size(m, n)
    x = leading(leading(x, k, -2), k, -1)
    kept = select(diagonal_mask(x), x, full_like(x, 0))
    return reduce_sum(kept, (typeof(x).ndim - 1,))


def leading(x: Value, size: int, axis: int) -> Value:
    """Return the first `size` elements along an axis."""
    return x if typeof(x).shape[axis] == size else slice_in_dim(x, 0, size, axis=axis)


def identity_like(x: Value) -> Value:
    """Return ones on the diagonals and zeros elsewhere, of the type of `x`."""
    return select(diagonal_mask(x), full_like(x, 1), full_like(x, 0))


def times_columns(x: Value, weights: Value) -> Value:
    """Return ``x @ diag(weights)``; `weights` is ``[*batch, n]``, real or of the dtype of `x`."""
    return mul(x, spread(weights, x, -1))


def spread(weights: Value, like: Value, axis: int) -> Value:
    """Repeat a stack of vectors, whose elements belong to `axis` -1 or -2, to the shape of `like`.

    The result has the dtype of `like`.
    """
    aval = typeof(like)
    dims = (*range(aval.ndim - 2), aval.ndim + axis)
    if typeof(weights).dtype != aval.dtype:
        weights = convert_element_type(weights, aval.dtype)
    return broadcast_in_dim(weights, aval.shape, dims)


def symmetrized(x: Value) -> Value:
    """Return ``(x + x^H) / 2``, weak where `x` is."""
    half = div(add(x, adjoint(x)), typeof(x).dtype.type(2))
    return as_type(half, typeof(half).dtype, True) if typeof(x).weak_type else half


def real_dtype(dtype: Any) -> np.dtype:
    """Return the dtype of the real part of numbers of a dtype."""
    return np.zeros((), dtype).real.dtype
