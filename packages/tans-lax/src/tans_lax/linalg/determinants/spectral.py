"""Determinants from LU factors, cofactors from singular values.

With ``A = U S V^H`` the matrix of cofactors is ``det(U V^H) conj(U) cof(S) conj(V^H)``, and that of
the diagonal `S` holds products that leave one singular value out. They are formed without division,
so that nothing is lost where a singular value vanishes.
"""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax.linalg.gaps import pairs
from tans_lax.linalg.matrices import (
    adjoint,
    conjugate,
    diagonal,
    matmul,
    spread,
    times_columns,
)
from tans_lax.linalg.singular_values import svd
from tans_lax.linalg.triangular_factors import lu

type Value = Any


def determinant(x: Value) -> Value:
    """Return the product of the pivots, with the sign of the row exchanges."""
    factors, pivots, _ = lu(x)
    aval = typeof(pivots)
    rows = lax.broadcasted_iota(aval.dtype, aval.shape, aval.ndim - 1)
    moved = lax.convert_element_type(lax.ne(pivots, rows), np.int32)
    odd = lax.eq(lax.rem(lax.reduce_sum(moved, (aval.ndim - 1,)), np.int32(2)), np.int32(1))
    product = lax.reduce_prod(diagonal(factors), (aval.ndim - 1,))
    return lax.select(odd, lax.neg(product), product)


def factored(x: Value) -> tuple[Value, Value, Value, Value]:
    """Return ``(phase, u, s, vh)``; the phase is ``det(u) * det(vh)``."""
    u, s, vh = svd(x)
    return determinant(matmul(u, vh)), u, s, vh


def from_basis(phase: Value, u: Value, inner: Value, vh: Value) -> Value:
    """Return ``phase * conj(u) @ inner @ conj(vh)``."""
    product = matmul(matmul(conjugate(u), inner), conjugate(vh))
    dims = tuple(range(typeof(phase).ndim))
    return lax.mul(product, lax.broadcast_in_dim(phase, typeof(product).shape, dims))


def cofactor_matrix(x: Value) -> Value:
    """Return the cofactors."""
    phase, u, s, vh = factored(x)
    left_out = products_without_one(s)
    product = matmul(times_columns(conjugate(u), left_out), conjugate(vh))
    dims = tuple(range(typeof(phase).ndim))
    return lax.mul(product, lax.broadcast_in_dim(phase, typeof(product).shape, dims))


def _exclusive_products(s: Value, reverse: bool) -> Value:
    """Return the products of all elements before (or behind) each one, along the last axis."""
    aval = typeof(s)
    axis = aval.ndim - 1
    config = [(0, 0, 0)] * axis + [(-1, 1, 0) if reverse else (1, -1, 0)]
    return lax.cumprod(lax.pad(s, aval.dtype.type(1), config), axis, reverse)


def products_without_one(s: Value) -> Value:
    """Return the products of all elements but one, for each."""
    return lax.mul(_exclusive_products(s, False), _exclusive_products(s, True))


def products_without_two(s: Value) -> Value:
    """Return at ``(i, j)`` the product of all elements but `i` and `j`; zero on the diagonal."""
    rows, columns = pairs(s)
    aval = typeof(rows)
    i, j = (
        lax.broadcasted_iota(np.dtype("int32"), aval.shape, axis)
        for axis in (aval.ndim - 2, aval.ndim - 1)
    )
    ones = lax.full_like(rows, 1)
    # Row i holds s_j behind i and ones before: its exclusive products are those between i and j.
    between = _exclusive_products(lax.select(lax.gt(j, i), columns, ones), False)
    before = spread(_exclusive_products(s, False), rows, -2)
    behind = spread(_exclusive_products(s, True), rows, -1)
    upper = lax.mul(lax.mul(before, between), behind)
    upper = lax.select(lax.gt(j, i), upper, lax.full_like(upper, 0))
    return lax.add(upper, adjoint(upper))
