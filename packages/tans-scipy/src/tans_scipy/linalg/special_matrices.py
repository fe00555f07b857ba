"""Matrices with names: companions, Fiedler, Pascal, Hadamard, Helmert, Leslie, Fourier."""

import operator
from math import comb
from typing import Any

import numpy as np

import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes, promote_dtypes_inexact
from tans_scipy.linalg.structured import toeplitz

type Array = Any


def _vector(name: str, a: ArrayLike, least: int = 1) -> Array:
    check_arraylike(name, a)
    a = jnp.asarray(a)
    if a.ndim != 1 or a.shape[0] < least:
        raise ValueError(
            f"{name}: given an array of shape {a.shape}, expected a vector of at least {least} "
            "elements. Use vmap for batches."
        )
    return a


def _size(name: str, n: int) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"{name}: given n={n}, expected at least 0.")
    return n


def companion(a: ArrayLike) -> Array:
    """Return the companion matrix of a polynomial, whose eigenvalues are its roots.

    Args:
      a: coefficients [..., n], highest power first, n of at least 2; integers become floats.

    Returns:
      Array [..., n - 1, n - 1].

    Example:
      >>> companion(jnp.array([1.0, -3.0, 2.0])).tolist()
      [[3.0, -2.0], [1.0, 0.0]]
    """
    check_arraylike("companion", a)
    (a,) = map(jnp.asarray, promote_dtypes_inexact("companion", a))
    if not a.ndim or a.shape[-1] < 2:
        raise ValueError(
            f"companion: given an array of shape {a.shape}, expected vectors of at least 2 "
            "elements. A polynomial without roots has no such matrix."
        )
    n = a.shape[-1] - 1
    below = jnp.broadcast_to(jnp.eye(n, k=-1, dtype=a.dtype), (*a.shape[:-1], n, n))
    return below.at[..., 0, :].set(-a[..., 1:] / a[..., :1])


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Return the matrix whose product with a vector of size `n` is its convolution with `a`.

    Args:
      a: [m].
      n: size of the vectors, at least 1.
      mode: "full", "same" or "valid", as for `convolve`.

    Returns:
      Array of n columns.

    Raises:
      ValueError: unknown mode, or `n` below 1.
    """
    a, n = _vector("convolution_matrix", a), operator.index(n)
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f"convolution_matrix: given mode={mode!r}, expected 'full', 'same' or 'valid'."
        )
    if n < 1:
        raise ValueError(f"convolution_matrix: given n={n}, expected at least 1.")
    m = a.shape[0]
    zeros = jnp.zeros(n - 1, a.dtype)
    full = toeplitz(jnp.concatenate([a, zeros]), jnp.concatenate([a[:1], zeros]))
    if mode == "full":
        return full
    cut = min(m, n) - 1
    first = cut // 2 if mode == "same" else cut
    return full[first : first + (max(m, n) if mode == "same" else max(m, n) - cut)]


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Array:
    """Return the matrix of the discrete Fourier transform.

    Args:
      n: size.
      scale: None, "sqrtn" for a unitary matrix, "n" for one divided by its size.
      dtype: complex dtype; the default one if None.

    Raises:
      ValueError: unknown `scale`, or negative size.
    """
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: given scale={scale!r}, expected None, 'sqrtn' or 'n'.")
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    matrix = np.exp(-2j * np.pi * turns / max(n, 1))
    divisor = {"sqrtn": np.sqrt(n), "n": n}.get(scale or "", 1)
    found = dtypes.default_complex() if dtype is None else dtype
    return jnp.asarray(matrix / (divisor or 1), found)


def fiedler(a: ArrayLike) -> Array:
    """Return the matrix of the distances between the elements of a vector.

    Args:
      a: [..., n].

    Returns:
      Array [..., n, n].

    Example:
      >>> fiedler(jnp.array([1, 4])).tolist()
      [[0, 3], [3, 0]]
    """
    check_arraylike("fiedler", a)
    a = jnp.atleast_1d(jnp.asarray(a))
    return jnp.zeros(0, a.dtype) if not a.size else abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Return a five-diagonal matrix whose eigenvalues are the roots of a polynomial.

    Args:
      a: coefficients [n], highest power first; integers become floats.

    Returns:
      Array [n - 1, n - 1].

    References:
      Fiedler, "A note on companion matrices", 2003.
    """
    (a,) = promote_dtypes_inexact("fiedler_companion", jnp.atleast_1d(jnp.asarray(a)))
    if a.ndim != 1:
        raise ValueError(f"fiedler_companion: given {a.ndim} dimensions, expected a vector.")
    if a.shape[0] <= 2:
        return -(a / a[0])[1:, None] if a.shape[0] == 2 else jnp.zeros(0, a.dtype)
    a, n = a / a[0], a.shape[0] - 1
    out = jnp.zeros((n, n), a.dtype)
    out = out.at[np.arange(3, n, 2), np.arange(1, n - 2, 2)].set(1)
    out = out.at[np.arange(2, n, 2), np.arange(1, n - 1, 2)].set(-a[3::2])
    out = out.at[np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    out = out.at[np.arange(0, n - 1, 2), np.arange(1, n, 2)].set(-a[2::2])
    return out.at[0, 0].set(-a[1]).at[1, 0].set(1)


def hadamard(n: int, dtype: Any = int) -> Array:
    """Return Sylvester's matrix of ones and minus ones with orthogonal rows.

    Args:
      n: size, a power of 2.
      dtype: dtype of the result.

    Raises:
      ValueError: another size.

    Example:
      >>> hadamard(2).tolist()
      [[1, 1], [1, -1]]
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: given n={n}, expected a power of 2.")
    signs = np.ones((1, 1), int)
    while signs.shape[0] < n:
        signs = np.block([[signs, signs], [signs, -signs]])
    return jnp.asarray(signs, dtype)


def helmert(n: int, full: bool = False) -> Array:
    """Return Helmert's matrix: an orthogonal basis of contrasts.

    Args:
      n: size.
      full: whether the first row, of equal elements, is part of it.

    Returns:
      Array [n - 1, n], or [n, n] with `full`.
    """
    n = _size("helmert", n)
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    rows[:1] = 1
    lengths = np.arange(n) * np.arange(1, n + 1.0)
    lengths[:1] = n
    matrix = rows / np.sqrt(lengths)[:, None]
    return jnp.asarray(matrix if full else matrix[1:], dtypes.default_float())


def invhilbert(n: int) -> Array:
    """Return the inverse of the Hilbert matrix, whose elements are integers.

    Args:
      n: size.
    """
    n = _size("invhilbert", n)
    rows = [
        [
            (-1) ** (i + j) * (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1)
            * comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]  # fmt: skip
    return jnp.asarray(np.array(rows, float).reshape(n, n), dtypes.default_float())


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Return the Leslie matrix of a population.

    Args:
      f: offspring per age [n].
      s: survival rates [n - 1].

    Raises:
      ValueError: other sizes.

    Example:
      >>> leslie(jnp.array([1.0, 2.0]), jnp.array([0.5])).tolist()
      [[1.0, 2.0], [0.5, 0.0]]
    """
    f, s = promote_dtypes("leslie", _vector("leslie", f, 2), _vector("leslie", s))
    n = typeof(f).shape[0]
    if typeof(s).shape[0] != n - 1:
        raise ValueError(
            f"leslie: given {n} and {typeof(s).shape[0]} rates, expected one survival rate less "
            "than rates of offspring."
        )
    below = np.arange(n - 1)
    out = jnp.zeros((n, n), typeof(f).dtype).at[0].set(f)
    return out.at[below + 1, below].set(s)


def pascal(n: int, kind: str | None = None) -> Array:
    """Return Pascal's matrix of binomial coefficients.

    Args:
      n: size.
      kind: "symmetric" or None, "lower", or "upper".

    Raises:
      ValueError: unknown kind.

    Example:
      >>> pascal(3)[2].tolist()
      [1.0, 3.0, 6.0]
    """
    return jnp.asarray(_pascal("pascal", n, kind, 1), dtypes.default_float())


def invpascal(n: int, kind: str | None = None) -> Array:
    """Return the inverse of Pascal's matrix.

    Args:
      n, kind: see `pascal`.

    Raises:
      ValueError: unknown kind.
    """
    return jnp.asarray(_pascal("invpascal", n, kind, -1), dtypes.default_float())


def _pascal(name: str, n: int, kind: str | None, power: int) -> np.ndarray:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"{name}: given kind={kind!r}, expected 'symmetric', 'lower' or 'upper'.")
    n = _size(name, n)
    entries = [[power ** (i - j) * comb(i, j) if j <= i else 0 for j in range(n)] for i in range(n)]
    lower = np.array(entries, float).reshape(n, n)
    if kind in ("lower", "upper"):
        return lower if kind == "lower" else lower.T
    return lower @ lower.T if power > 0 else lower.T @ lower
