"""Reciprocals of gaps in a spectrum, with zero for values that can't be told apart.

Derivatives of eigenvectors hold terms ``m_ij / (w_j - w_i)``. Where two values coincide, the
eigenvectors of the pair may be turned into each other: a function that has a derivative there does
not change under such a turn, so the term may be left out. To form it would give inf times zero.
Values closer than the error of the factorization itself count as equal.
"""

from typing import Any

import numpy as np

from tans_core import typeof
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import abs, add, div, mul, sub
from tans_lax.elementwise.comparison import gt
from tans_lax.elementwise.selection import select
from tans_lax.reductions import reduce_max
from tans_lax.shape import broadcast_in_dim
from tans_lax.sizes import scaled_size

type Value = Any  # an array or a tracer


def pairs(values: Value) -> tuple[Value, Value]:
    """Return stacks of matrices with ``values[i]`` and ``values[j]`` at place ``(i, j)``."""
    shape = typeof(values).shape
    full = (*shape, shape[-1])
    batch = tuple(range(len(shape) - 1))
    rows = broadcast_in_dim(values, full, (*batch, len(shape) - 1))
    columns = broadcast_in_dim(values, full, (*batch, len(shape)))
    return rows, columns


def reciprocal_unless_small(x: Value, values: Value, size: int) -> Value:
    """Return ``1 / x``, or zero where `x` is rounding noise next to the largest of `values`.

    Args:
      x: ``[*batch, ...]``, real or complex.
      values: ``[*batch, k]``, the spectrum.
      size: number of rows or columns of the matrix, which scales the noise.
    """
    magnitudes = abs(x)
    aval = typeof(magnitudes)
    if 0 in aval.shape:
        return x
    largest = reduce_max(abs(values), (typeof(values).ndim - 1,))
    unit = scaled_size(size, np.finfo(aval.dtype).eps, aval.dtype)
    noise = mul(largest, full_like(largest, unit))
    noise = broadcast_in_dim(noise, aval.shape, tuple(range(typeof(noise).ndim)))
    distinct = gt(magnitudes, noise)
    safe = select(distinct, x, full_like(x, 1))
    return select(distinct, div(full_like(x, 1), safe), full_like(x, 0))


def inverse_gaps(values: Value, size: int) -> Value:
    """Return ``1 / (values[j] - values[i])`` at place ``(i, j)``, zero for equal values."""
    rows, columns = pairs(values)
    return reciprocal_unless_small(sub(columns, rows), values, size)


def inverse_sums(values: Value, size: int) -> Value:
    """Return ``1 / (values[i] + values[j])`` at place ``(i, j)``, zero where both vanish."""
    rows, columns = pairs(values)
    return reciprocal_unless_small(add(columns, rows), values, size)
