"""Result types of QR factors and reflectors."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, same_stack, shown, with_shape
from tans_lax.linalg.orthogonal_factors import geqrf_p, householder_product_p, ormqr_p, qr_p
from tans_xla.sizes import min_size


def _qr_type(
    x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> tuple[ShapedArray, ...]:
    del use_magma
    check_matrix("qr", x)
    m, n = x.shape[-2:]
    k = m if full_matrices else min_size(m, n)
    factors = with_shape(x, m, k), with_shape(x, k, n)
    return (*factors, with_shape(x, n, dtype=np.int32)) if pivoting else factors


def _geqrf_type(x: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    check_matrix("geqrf", x)
    return x, with_shape(x, min_size(*x.shape[-2:]))


def _check_reflectors(name: str, a: ShapedArray, taus: ShapedArray) -> None:
    check_matrix(name, a)
    check_matrix(name, taus, 1)
    same_stack(name, a, taus)
    m, n = a.shape[-2:]
    if m < n or taus.ndim != a.ndim - 1 or taus.shape[-1] > n:
        raise ValueError(
            f"{name}: given reflectors {shown(a)} with factors {shown(taus)}, expected "
            "[*batch, m, n] with m >= n and [*batch, k] with k <= n. Pass what a QR "
            "factorization stored."
        )


def _householder_product_type(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    _check_reflectors("householder_product", a, taus)
    return a


def _ormqr_type(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    del transpose
    _check_reflectors("ormqr", a, taus)
    same_stack("ormqr", a, c)
    if c.ndim != a.ndim or c.shape[-2 if left else -1] != a.shape[-2]:
        form = "[*batch, m, n]" if left else "[*batch, n, m]"
        raise ValueError(
            f"ormqr: given reflectors {shown(a)} and c {shown(c)} with left={left}, expected c of "
            f"shape {form} with m={a.shape[-2]}. Transpose c, or turn left over."
        )
    return c


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    qr_p: _qr_type,
    geqrf_p: _geqrf_type,
    householder_product_p: _householder_product_type,
    ormqr_p: _ormqr_type,
}
