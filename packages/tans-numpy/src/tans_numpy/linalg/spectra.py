"""Eigenvalues, eigenvectors, singular values and what is read off them."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax import linalg as lax_linalg
from tans_lax.linalg.matrices import real_dtype
from tans_lax.sizes import scaled_size
from tans_numpy.linalg.checks import check_matrices
from tans_numpy.linalg.factorizations import svd
from tans_numpy.linalg.results import EighResult, EigResult
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_xla import composite
from tans_xla.sizes import max_size

type Array = Any


@composite(static_argnames=("UPLO", "symmetrize_input"), is_whole=True)
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Factor Hermitian matrices as ``V @ diag(w) @ V^H``.

    Functions of the eigenvalues may be differentiated also where several of these are equal.

    Args:
      a: ``[..., n, n]``; integers become the default float.
      UPLO: which triangle is read when `symmetrize_input` is False: "L" (the default) or "U".
      symmetrize_input: whether to factor ``(a + a^H) / 2``.

    Returns:
      ``(eigenvalues, eigenvectors)``, ascending, and as columns.

    Raises:
      ValueError: the matrices are not square, or `UPLO` is unknown.

    Example:
      >>> eigh(jnp.array([[3.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
      [1.0, 3.0]
    """
    check_matrices("linalg.eigh", a, square=True)
    if UPLO not in (None, "L", "U"):
        raise ValueError(
            f"linalg.eigh: given UPLO={UPLO!r}, expected None, 'L' or 'U'. Leave it out when the "
            "matrices are Hermitian."
        )
    return EighResult(*_eigh(a, lower=UPLO != "U", symmetrize_input=bool(symmetrize_input)))


def _eigh(a: Array, *, lower: bool, symmetrize_input: bool) -> tuple[Array, Array]:
    (a,) = promote_dtypes_inexact("linalg.eigh", a)
    v, w = lax_linalg.eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return w, v


@composite(static_argnames=("UPLO", "symmetrize_input"), is_whole=True)
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Compute the eigenvalues of Hermitian matrices, ascending; arguments as for `eigh`.

    Example:
      >>> eigvalsh(jnp.array([[3.0, 0.0], [0.0, 1.0]])).tolist()
      [1.0, 3.0]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: ArrayLike) -> EigResult:
    """Compute eigenvalues and eigenvectors: ``a @ v = v @ diag(w)``.

    Args:
      a: ``[..., n, n]``; integers become the default float.

    Returns:
      ``(eigenvalues, eigenvectors)``, complex; the vectors are columns of length one.

    Raises:
      TypeError: fewer than two dimensions.
      ValueError: the matrices are not square.

    Example:
      >>> [z.imag for z in sorted(eig(jnp.array([[0.0, -1.0], [1.0, 0.0]]))[0].tolist(), key=str)]
      [-1.0, 1.0]
    """
    check_matrices("linalg.eig", a, square=True, rank_error=TypeError)
    return EigResult(*_eig(a, vectors=True))


def eigvals(a: ArrayLike) -> Array:
    """Compute the eigenvalues of matrices, complex and in no order; argument as for `eig`.

    Example:
      >>> eigvals(jnp.array([[2.0]])).tolist()
      [(2+0j)]
    """
    check_matrices("linalg.eigvals", a, square=True, rank_error=TypeError)
    return _eig(a, vectors=False)[0]


@composite(static_argnames=("vectors",), is_whole=True)
def _eig(a: Array, *, vectors: bool) -> list[Array]:
    (a,) = promote_dtypes_inexact("linalg.eig", a)
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=vectors)


@composite(is_whole=True)
def svdvals(x: ArrayLike, /) -> Array:
    """Compute singular values, descending; argument and errors as for `svd`.

    Example:
      >>> svdvals(jnp.array([[3.0, 0.0], [0.0, -4.0]])).tolist()
      [4.0, 3.0]
    """
    out: Any = svd(x, full_matrices=False, compute_uv=False)
    return out


@composite(static_argnames=("hermitian",), is_whole=True)
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Count the singular values that are not negligible.

    Args:
      M: ``[..., m, n]``, or a vector or scalar, whose rank is one unless it is zero.
      rtol: threshold relative to the largest singular value; None means the larger size times the
        rounding unit.
      hermitian: whether the matrices are Hermitian.
      tol: absolute threshold, instead of `rtol`.

    Returns:
      The default integer, ``[...]``.

    Raises:
      ValueError: both thresholds are given.

    Example:
      >>> int(matrix_rank(jnp.ones((3, 3))))
      1
    """
    check_arraylike("linalg.matrix_rank", M)
    if rtol is not None and tol is not None:
        raise ValueError(
            "linalg.matrix_rank: given rtol and tol, expected at most one of them. Drop tol."
        )
    return _matrix_rank(M, rtol, tol, hermitian=bool(hermitian))


def _matrix_rank(a: Array, rtol: Any, tol: Any, *, hermitian: bool) -> Array:
    (a,) = promote_dtypes_inexact("linalg.matrix_rank", a)
    aval = typeof(a)
    if aval.ndim < 2:
        nonzero = lax.ne(a, lax.full_like(a, 0))
        found = lax.reduce_or(nonzero, tuple(range(aval.ndim)))
        return lax.convert_element_type(found, int)
    s = _svdvals(a, hermitian)
    size = typeof(s).shape[-1]
    if size == 0:
        return lax.full(typeof(s).shape[:-1], 0, int)
    largest = lax.slice_in_dim(s, 0, 1, axis=-1)
    if tol is None:
        if rtol is None:
            eps = np.finfo(real_dtype(aval.dtype)).eps
            rtol = scaled_size(max_size(*aval.shape[-2:]), eps, typeof(s).dtype)
        threshold = largest * _column(rtol, s)
    else:
        threshold = _column(tol, s)
    kept = s > threshold
    return lax.reduce_sum(lax.convert_element_type(kept, int), (typeof(s).ndim - 1,))


def _svdvals(a: Array, hermitian: bool) -> Array:
    out: Any = svd(a, full_matrices=False, compute_uv=False, hermitian=hermitian)
    return out


def _column(x: Any, like: Array) -> Array:
    """Return a threshold per matrix as a column beside the singular values."""
    x = lax.convert_element_type(x, typeof(like).dtype)
    return lax.expand_dims(x, (typeof(x).ndim,)) if typeof(x).ndim else x
