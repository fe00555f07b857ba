"""Schur and Hessenberg forms, and functions of matrices through them."""

from collections.abc import Callable
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.linalg.exponential import expm
from tans_scipy.linalg.operands import as_complex, inexact_square
from tans_xla import composite

type Array = Any


@composite(static_argnames=("output",))
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Return the Schur form: ``a = Z T Z^H`` with unitary Z and triangular T.

    Args:
      a: [..., n, n].
      output: "real" keeps T real, with blocks of size 2 for pairs of complex eigenvalues;
        "complex" makes it triangular.

    Returns:
      T and Z.

    Raises:
      ValueError: unknown `output`, or the matrices are not square.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: given output={output!r}, expected 'real' or 'complex'.")
    a = inexact_square("schur", a)
    T, Z = lax.linalg.schur(as_complex(a) if output == "complex" else a)
    return T, Z


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Turn a real Schur form into a complex one.

    Args:
      T, Z: [n, n], what `schur` returns.
      check_finite: accepted; nothing is checked.

    Returns:
      Complex T, upper triangular, and Z.

    Raises:
      ValueError: the matrices are not square.
    """
    del check_finite
    T, Z = inexact_square("rsf2csf", T), inexact_square("rsf2csf", Z)
    return _rsf2csf(as_complex(T), as_complex(Z))


@composite
def _rsf2csf(T: Array, Z: Array) -> tuple[Array, Array]:
    n = T.shape[-1]
    if n < 2:
        return T, Z

    def rotate(state: tuple, m: Array) -> tuple[tuple, None]:
        # One rotation of rows and columns m - 1 and m makes the element below the diagonal 0.
        T, Z = state
        block = lax.dynamic_slice(T, (m - 1, m - 1), (2, 2))
        trace, gap = block[0, 0] + block[1, 1], (block[0, 0] - block[1, 1]) / 2
        root = jnp.sqrt(gap * gap + block[0, 1] * block[1, 0])
        mu = trace / 2 + jnp.where(jnp.real(root * jnp.conj(gap)) > 0, -root, root) - block[1, 1]
        below = block[1, 0]
        length = jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(below) ** 2)
        safe = jnp.where(length == 0, 1, length)
        c, s = mu / safe, below / safe
        turn = jnp.stack([jnp.stack([jnp.conj(c), s]), jnp.stack([-s, c])])
        identity = jnp.eye(2, dtype=T.dtype)
        turn = jnp.where(below == 0, identity, turn)
        rows = lax.dynamic_slice(T, (m - 1, 0), (2, n))
        T = lax.dynamic_update_slice(T, turn @ rows, (m - 1, 0))
        back = jnp.conj(turn).T
        columns = lax.dynamic_slice(T, (0, m - 1), (n, 2))
        T = lax.dynamic_update_slice(T, columns @ back, (0, m - 1))
        columns = lax.dynamic_slice(Z, (0, m - 1), (n, 2))
        Z = lax.dynamic_update_slice(Z, columns @ back, (0, m - 1))
        return (T.at[m, m - 1].set(0), Z), None

    (T, Z), _ = lax.scan(rotate, (T, Z), jnp.arange(n - 1, 0, -1))
    return jnp.triu(T), Z


@composite(static_argnames=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Return the Hessenberg form: ``a = Q H Q^H``, with zeros below the first subdiagonal of H.

    Args:
      a: [..., n, n].
      calc_q: whether to return Q too.
      overwrite_a, check_finite: accepted.

    Returns:
      H, or H and Q.

    Raises:
      ValueError: the matrices are not square.
    """
    del overwrite_a, check_finite
    a = inexact_square("hessenberg", a)
    n = typeof(a).shape[-1]
    if n == 0:
        return (a, a) if calc_q else a
    packed, taus = lax.linalg.hessenberg(a)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    reflectors = packed[..., 1:, :-1]
    q = lax.linalg.householder_product(reflectors, taus)
    identity = jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    return h, identity.at[..., 1:, 1:].set(q)


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Return the principal square root of a matrix, as complex numbers.

    Args:
      A: [n, n].
      blocksize: must be 1.

    Raises:
      NotImplementedError: another block size.
      ValueError: the matrix is not square.

    References:
      Björck and Hammarling, "A Schur method for the square root of a matrix", 1983.
    """
    if blocksize != 1:
        raise NotImplementedError(f"sqrtm: given blocksize={blocksize}, expected 1.")
    a = inexact_square("sqrtm", A)
    if a.ndim > 2:
        raise ValueError(
            f"sqrtm: given an array of shape {a.shape}, expected one matrix [n, n]. Map it over "
            "the others with vmap."
        )
    return _sqrtm(a)


@composite
def _sqrtm(a: Array) -> Array:
    T, Z = lax.linalg.schur(as_complex(a))
    n = T.shape[-1]
    roots = jnp.sqrt(jnp.diagonal(T))
    U = jnp.diag(roots)

    def column(U: Array, j: Array) -> tuple[Array, None]:
        def row(k: Array, U: Array) -> Array:
            i = j - 1 - k
            inner = jnp.dot(jnp.where(jnp.arange(n) > i, U[i], 0), U[:, j])
            total = U[i, i] + U[j, j]
            value = T[i, j] - (inner - U[i, j] * U[j, j])
            return U.at[i, j].set(jnp.where(value == 0, 0, value / total))

        return lax.fori_loop(0, j, row, U), None

    U, _ = lax.scan(column, U, jnp.arange(n))
    return Z @ U @ jnp.conj(Z).T


def funm(
    A: ArrayLike, func: Callable[[Array], Array], disp: bool = True
) -> Array | tuple[Array, Array]:
    """Return a function of a matrix.

    Args:
      A: [n, n] with distinct eigenvalues.
      func: function of the eigenvalues, element by element.
      disp: must be True for the matrix alone; False returns an estimate of the error too.

    Raises:
      ValueError: the matrix is not square.

    References:
      Golub and Van Loan, "Matrix computations", 9.1 (Parlett's recurrence).
    """
    a = inexact_square("funm", A)
    T, Z = schur(a, "complex")
    F, smallest = _parlett(T, func(jnp.diagonal(T)).astype(T.dtype))
    out = Z @ F @ jnp.conj(Z).T
    if disp:
        return out
    eps = jnp.finfo(T.dtype).eps
    norm = jnp.linalg.norm(jnp.triu(T, 1), 1)
    error = jnp.minimum(1.0, jnp.maximum(eps, eps / smallest * norm))
    return out, jnp.where(jnp.all(jnp.isfinite(out)), error, jnp.inf)


@composite
def _parlett(T: Array, values: Array) -> tuple[Array, Array]:
    n = T.shape[-1]
    F = jnp.diag(values)
    smallest = jnp.abs(T[0, 0]) if n else jnp.ones((), jnp.real(T).dtype)
    for p in range(1, n):
        for i in range(n - p):
            j = i + p
            s = T[i, j] * (F[j, j] - F[i, i])
            inner = slice(i + 1, j)
            s = s + T[i, inner] @ F[inner, j] - F[i, inner] @ T[inner, j]
            gap = T[j, j] - T[i, i]
            F = F.at[i, j].set(jnp.where(gap == 0, s, s / jnp.where(gap == 0, 1, gap)))
            smallest = jnp.minimum(smallest, jnp.abs(gap))
    return F, jnp.where(smallest == 0, jnp.finfo(T.dtype).eps, smallest)


def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """Return the derivative of the matrix exponential at `A` in the direction `E`.

    Args:
      A, E: [n, n].
      method: "SPS", "blockEnlarge", or None; the block method is used.
      compute_expm: whether to return the exponential too.

    Returns:
      The exponential and the derivative, or the derivative.

    Raises:
      ValueError: shapes that do not fit, or an unknown method.

    References:
      Higham, "Functions of matrices", 2008, (3.16).
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(
            f"expm_frechet: given method={method!r}, expected None, 'SPS' or 'blockEnlarge'."
        )
    A, E = inexact_square("expm_frechet", A), inexact_square("expm_frechet", E)
    if A.shape != E.shape:
        raise ValueError(
            f"expm_frechet: given matrices of shapes {A.shape} and {E.shape}, expected one shape."
        )
    n = A.shape[-1]
    upper = jnp.concatenate([A, E], -1)
    lower = jnp.concatenate([jnp.zeros_like(A), A], -1)
    big = expm(jnp.concatenate([upper, lower], -2))
    derivative = big[..., :n, n:]
    return (big[..., :n, :n], derivative) if compute_expm else derivative


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Return the polar form: ``a = U P`` with isometric U and positive semidefinite P.

    Args:
      a: [m, n].
      side: "right", or "left" for ``a = P U``.
      method: "qdwh" or "svd"; singular values are used for both unless a bound is given.
      eps, max_iterations: bounds of the iteration of `lax.linalg.qdwh`, for "qdwh" only.

    Returns:
      U and P.

    Raises:
      ValueError: unknown side or method, another number of dimensions, or bounds for "svd".
      NotImplementedError: bounds for m < n, or for m > n and the left side.
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: given side={side!r}, expected 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: given method={method!r}, expected 'qdwh' or 'svd'.")
    (a,) = promote_dtypes_inexact("polar", a)
    if typeof(a).ndim != 2:
        raise ValueError(f"polar: given {typeof(a).ndim} dimensions, expected a matrix.")
    if eps is not None or max_iterations is not None:
        return _iterated_polar(a, side, method, eps=eps, max_iterations=max_iterations)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    if side == "right":
        return u @ vh, (jnp.conj(vh).T * s) @ vh
    return u @ vh, (u * s) @ jnp.conj(u).T


def _iterated_polar(a: Array, side: str, method: str, **bounds: Any) -> tuple[Array, Array]:
    given = ", ".join(f"{name}={value}" for name, value in bounds.items() if value is not None)
    if method == "svd":
        raise ValueError(
            f"polar: given {given} for method='svd', expected None: singular values take no "
            "iterations. Use method='qdwh', or leave them out."
        )
    m, n = typeof(a).shape
    if (m < n) if side == "right" else (m > n):
        raise NotImplementedError(
            f"polar: given {given} for a matrix of shape {(m, n)} and side={side!r}, expected at "
            "least as many rows as columns for 'right', as many columns as rows for 'left'. Leave "
            "the bounds out."
        )
    u, p, *_ = lax.linalg.qdwh(a if side == "right" else jnp.conj(a).T, **bounds)
    return (u, p) if side == "right" else (jnp.conj(u).T, p)


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Return the product of a matrix with Q of a QR factorisation, and R.

    Args:
      a: [m, n].
      c: matrix or vector to multiply.
      mode: "left" returns ``Q c``, "right" ``c Q``.
      pivoting: whether columns are permuted; returns the permutation too.
      conjugate: whether Q is conjugated.
      overwrite_a, overwrite_c: accepted.

    Raises:
      ValueError: unknown mode, or shapes that do not fit.
    """
    del overwrite_a, overwrite_c
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: given mode={mode!r}, expected 'left' or 'right'.")
    a, c = promote_dtypes_inexact("qr_multiply", a, c)
    if typeof(a).ndim != 2 or typeof(c).ndim not in (1, 2):
        raise ValueError(
            f"qr_multiply: given {typeof(a).ndim} and {typeof(c).ndim} dimensions, expected a "
            "matrix, and a matrix or vector."
        )
    pivots: tuple = ()
    if pivoting:
        q, r, p = lax.linalg.qr(a, pivoting=True, full_matrices=False)
        pivots = (p,)
    else:
        q, r = jnp.linalg.qr(a)
    q = jnp.conj(q) if conjugate else q
    m, k = typeof(q).shape
    if mode == "left":
        if typeof(c).shape[0] not in (k, m):
            raise ValueError(f"qr_multiply: given c of {typeof(c).shape[0]} rows, expected {k}.")
        full = q if typeof(c).shape[0] == k else jnp.linalg.qr(a, mode="complete")[0]
        return (full @ c, r, *pivots)
    if typeof(c).shape[-1] != m:
        raise ValueError(f"qr_multiply: given c of {typeof(c).shape[-1]} columns, expected {m}.")
    return (c @ q, r, *pivots)
