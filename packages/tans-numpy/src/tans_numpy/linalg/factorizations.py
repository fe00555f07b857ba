"""Factorizations of matrices: Cholesky, QR, singular values."""

from typing import Any

import tans_lax as lax
from tans_core import typeof
from tans_lax import linalg as lax_linalg
from tans_lax.linalg.matrices import adjoint, times_columns, transposed, upper_part
from tans_lax.linalg.orthogonal_factors import geqrf
from tans_lax.linalg.row_gather import take_columns
from tans_numpy.linalg.checks import check_matrices
from tans_numpy.linalg.results import QRResult, SVDResult
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_xla import composite

type Array = Any


@composite(static_argnames=("upper", "symmetrize_input"), is_whole=True)
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Factor Hermitian positive-definite matrices as ``L @ L^H``, or ``U^H @ U``.

    Args:
      a: ``[..., n, n]``; integers become the default float.
      upper: whether to return the upper factor.
      symmetrize_input: whether to factor ``(a + a^H) / 2``; otherwise one triangle is read.

    Returns:
      ``[..., n, n]``; the triangle is nan where `a` is not positive definite.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
      [[2.0, 0.0], [1.0, 2.0]]
    """
    check_matrices("linalg.cholesky", a, square=True)
    return _cholesky(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


def _cholesky(a: Array, *, upper: bool, symmetrize_input: bool) -> Array:
    (a,) = promote_dtypes_inexact("linalg.cholesky", a)
    if upper and not symmetrize_input:
        a = adjoint(a)
    factor = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


@composite(static_argnames=("mode",), is_whole=True)
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Factor matrices as ``Q @ R`` with orthonormal columns and an upper triangle.

    Args:
      a: ``[..., m, n]``; integers become the default float.
      mode: "reduced" or "full" (``min(m, n)`` columns), "complete" (square `Q`), "r" (only `R`),
        or "raw" (transposed reflectors ``[..., n, m]`` and their factors).

    Returns:
      ``(Q, R)``, `R` alone, or ``(h, tau)``.

    Raises:
      TypeError: fewer than two dimensions.
      ValueError: unknown mode.

    Example:
      >>> q, r = qr(jnp.array([[3.0], [4.0]]))
      >>> q.shape, r.shape
      ((2, 1), (1, 1))
    """
    check_matrices("linalg.qr", a, rank_error=TypeError)
    if mode not in ("reduced", "complete", "r", "raw", "full"):
        raise ValueError(
            f"linalg.qr: given mode={mode!r}, expected 'reduced', 'complete', 'r' or 'raw'. Write "
            "mode='reduced' for the smallest factors."
        )
    outs = _qr(a, mode=mode)
    if mode == "r":
        return outs
    return outs if mode == "raw" else QRResult(*outs)


def _qr(a: Array, *, mode: str) -> Any:
    (a,) = promote_dtypes_inexact("linalg.qr", a)
    if mode == "raw":
        packed, taus = geqrf(a)
        return transposed(packed), taus
    q, r = lax_linalg.qr(a, full_matrices=mode == "complete")
    return upper_part(r) if mode == "r" else (q, r)


@composite(
    static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"), is_whole=True
)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """Factor matrices as ``U @ diag(S) @ Vh``.

    Functions of the singular values may be differentiated also where several of these are equal.

    Args:
      a: ``[..., m, n]``; integers become the default float.
      full_matrices: whether `U` and `Vh` are square.
      compute_uv: whether to return the singular vectors.
      hermitian: whether the matrices are Hermitian, which makes it cheaper.
      subset_by_index: ``(start, stop)``: only the singular values from `start` to before `stop`.

    Returns:
      ``(U, S, Vh)``, or `S` alone: ``[..., min(m, n)]``, real and descending.

    Raises:
      TypeError: fewer than two dimensions.
      ValueError: an impossible subset.

    Example:
      >>> svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False).tolist()
      [4.0, 3.0]
    """
    check_matrices("linalg.svd", a, square=hermitian, rank_error=TypeError)
    outs = _svd(
        a,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        hermitian=bool(hermitian),
        subset=None if subset_by_index is None else tuple(subset_by_index),
    )
    return SVDResult(*outs) if compute_uv else outs


def _svd(a: Array, *, full_matrices: bool, compute_uv: bool, hermitian: bool, subset: Any) -> Any:
    (a,) = promote_dtypes_inexact("linalg.svd", a)
    if not hermitian:
        return lax_linalg.svd(
            a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset
        )
    v, w = lax_linalg.eigh(a)
    s = lax.abs(w)
    axis = typeof(s).ndim - 1
    order = lax.broadcasted_iota("int32", typeof(s).shape, axis)
    s, order = lax.sort((lax.neg(s), order), axis)
    s = lax.neg(s)
    start, stop = subset or (0, typeof(s).shape[-1])
    s, order = (lax.slice_in_dim(x, start, stop, axis=axis) for x in (s, order))
    if not compute_uv:
        return s
    return _signed(v, w, s, order)


def _signed(v: Array, w: Array, s: Array, order: Array) -> tuple[Array, Array, Array]:
    """Order eigenvectors by magnitude; the sign of an eigenvalue goes to the left vector."""
    signs = lax.select(lax.lt(w, lax.full_like(w, 0)), lax.full_like(w, -1), lax.full_like(w, 1))
    u = take_columns(times_columns(v, signs), order)
    return u, s, adjoint(take_columns(v, order))
