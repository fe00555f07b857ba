"""Polynomials as vectors of coefficients, highest power first."""

import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_numpy.creation import asarray
from tans_numpy.editing import trim_zeros
from tans_numpy.joining import atleast_1d, concatenate
from tans_numpy.manipulation import broadcast_to
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
    strong,
)
from tans_numpy.sliding_products import convolve
from tans_numpy.ufuncs.arithmetic import add, multiply
from tans_numpy.ufuncs.powers import power
from tans_xla import composite

type Array = Any


def _polyval(p: Any, x: Any, *, unroll: int) -> Array:
    p, x = map(strong, promote_dtypes("polyval", p, x))
    n, *own = typeof(p).shape
    dims = broadcast_shapes("polyval", tuple(own), typeof(x).shape)
    if 0 < n <= unroll:
        first, *rest = lax.unstack(p)
        total: Any = broadcast_to(first, dims) if own else lax.broadcast(first, dims)
        for coefficient in rest:
            total = add.inline(multiply.inline(total, x), coefficient)
        return total
    total = lax.full(dims, 0, typeof(p).dtype)

    def step(total: Any, coefficient: Any) -> Any:
        return add.inline(multiply.inline(total, x), coefficient), None

    return lax.scan(step, total, p, unroll=unroll)[0]


@composite(static_argnames=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | None = None) -> Array:
    """Evaluate a polynomial by Horner's rule.

    Args:
      p: coefficients [n], highest power first; or [n, ...], a polynomial for each place.
      x: where to evaluate, any shape that broadcasts with the places.
      unroll: how many steps the loop over coefficients takes at once; 16 if None.

    Example:
      >>> polyval(jnp.array([1, 0, 1]), 3)
      Array(10, dtype=int32)
    """
    check_arraylike("polyval", p, x)
    if not typeof(p).ndim:
        raise ValueError(
            f"polyval: given the scalar {p!r} as coefficients, expected a vector. Write [p]."
        )
    return _polyval(p, x, unroll=16 if unroll is None else operator.index(unroll))


def _polyadd(a1: Any, a2: Any, *, sign: int) -> Array:
    a1, a2 = promote_dtypes("polyadd", a1, a2)
    n = max(typeof(a1).shape[0], typeof(a2).shape[0])
    a1, a2 = (
        lax.pad(v, typeof(v).dtype.type(0), ((n - typeof(v).shape[0], 0, 0),)) for v in (a1, a2)
    )
    return lax.add(a1, a2) if sign > 0 else lax.sub(a1, a2)


@composite
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Add polynomials.

    Args:
      a1, a2: coefficients, highest power first.
    """
    check_arraylike("polyadd", a1, a2)
    return _polyadd(atleast_1d(a1), atleast_1d(a2), sign=1)


@composite
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Subtract polynomials.

    Args:
      a1, a2: coefficients, highest power first.
    """
    check_arraylike("polysub", a1, a2)
    return _polyadd(atleast_1d(a1), atleast_1d(a2), sign=-1)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Multiply polynomials.

    Args:
      a1, a2: coefficients, highest power first.
      trim_leading_zeros: leave leading zeros out first, which needs concrete coefficients.
    """
    check_arraylike("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact("polymul", atleast_1d(a1), atleast_1d(a2))
    if trim_leading_zeros and (typeof(a1).size > 1 or typeof(a2).size > 1):
        a1, a2 = trim_zeros(a1, "f"), trim_zeros(a2, "f")
    a1 = a1 if typeof(a1).size else asarray([0], typeof(a1).dtype)
    a2 = a2 if typeof(a2).size else asarray([0], typeof(a2).dtype)
    return convolve(a1, a2, "full")


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Divide polynomials with remainder.

    Args:
      u: coefficients of the dividend, highest power first.
      v: coefficients of the divisor.
      trim_leading_zeros: leave leading zeros of the remainder out, which needs concrete
        coefficients.

    Returns:
      Quotient and remainder; the remainder has the size of `u` unless it is trimmed.
    """
    check_arraylike("polydiv", u, v)
    quotient, rest = _polydiv(atleast_1d(u), atleast_1d(v))
    return quotient, trim_zeros(rest, "f") if trim_leading_zeros else rest


@composite
def _polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    u, v = (asarray(x) for x in promote_dtypes_inexact("polydiv", u, v))
    m, n = u.shape[0] - 1, v.shape[0] - 1
    leading = v[0]
    digits = []
    for k in range(m - n + 1):
        digit = u[k] / leading
        digits.append(digit)
        u = u.at[k : k + n + 1].add(-digit * v)
    quotient = [lax.expand_dims(d, (0,)) for d in digits]
    return (lax.concatenate(quotient, 0) if quotient else lax.full((1,), 0, u.dtype)), u


@composite(static_argnames=("m",))
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Differentiate a polynomial `m` times.

    Args:
      p: coefficients [n], highest power first.
      m: static order.

    Raises:
      ValueError: negative `m`.
    """
    check_arraylike("polyder", p)
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyder: given m={m}, expected at least 0.")
    (p,) = promote_dtypes_inexact("polyder", p)
    n = typeof(p).shape[0]
    if m == 0:
        return p
    powers = np.arange(n - 1, -1, -1)
    factors = np.prod([powers - k for k in range(m)], axis=0)[: max(n - m, 0)]
    return p[: max(n - m, 0)] * factors.astype(typeof(p).dtype)


@composite(static_argnames=("m",))
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Integrate a polynomial `m` times.

    Args:
      p: coefficients [n], highest power first.
      m: static order.
      k: constants of integration, one per step or one for all; 0 if None.

    Raises:
      ValueError: negative `m`, or a wrong number of constants.
    """
    m = operator.index(m)
    k = 0 if k is None else k
    check_arraylike("polyint", p, k)
    p, k = promote_dtypes_inexact("polyint", p, k)
    k = atleast_1d(k)
    if m < 0 or typeof(k).shape[0] not in (1, m):
        raise ValueError(
            f"polyint: given m={m} and {typeof(k).shape[0]} constants, expected m of at least 0 "
            "and one constant, or m."
        )
    if m == 0:
        return p
    if typeof(k).shape[0] != m:
        k = lax.broadcast_in_dim(k, (m,), (0,))
    n = typeof(p).shape[0]
    # After all steps a coefficient at power e has been divided by e, e - 1, ... down to the power
    # above the one it entered with: power 0 for constants, so those by the factorial of e.
    powers = np.arange(n + m - 1, -1, -1)
    factor = np.array([np.prod(np.arange(max(e - m, 0) + 1, e + 1), dtype=float) for e in powers])
    return concatenate([p, k]) / factor.astype(typeof(p).dtype)


@composite(static_argnames=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return powers of the elements of a vector, one row each.

    Args:
      x: [n].
      N: static number of columns; n if None.
      increasing: lowest power first.

    Raises:
      ValueError: `x` is not a vector, or `N` is negative.
    """
    check_arraylike("vander", x)
    if typeof(x).ndim != 1:
        raise ValueError(f"vander: given {typeof(x).ndim} dimensions, expected a vector.")
    count = typeof(x).shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError(f"vander: given N={count}, expected at least 0.")
    powers = np.arange(count, dtype=np.int32)[None]
    return power(lax.expand_dims(strong(x), (1,)), powers if increasing else powers[:, ::-1])


@composite
def _poly(roots: Any) -> Array:
    (roots,) = promote_dtypes_inexact("poly", roots)
    roots = asarray(roots)
    out = lax.full((1,), 1, roots.dtype)
    for k in range(roots.shape[0]):
        longer = lax.pad(out, roots.dtype.type(0), ((0, 1, 0),))
        out = longer - roots[k] * lax.pad(out, roots.dtype.type(0), ((1, 0, 0),))
    return out


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the coefficients of the polynomial with given zeros.

    Args:
      seq_of_zeros: zeros [n], or a square matrix for its characteristic polynomial.

    Returns:
      Vector [n + 1], highest power first, complex for a matrix; a scalar 1 without zeros.

    Raises:
      ValueError: neither a vector nor a square matrix.
    """
    check_arraylike("poly", seq_of_zeros)
    zeros = atleast_1d(seq_of_zeros)
    dims = typeof(zeros).shape
    if len(dims) == 2 and dims[0] == dims[1] and dims[0]:
        (zeros,) = promote_dtypes_inexact("poly", zeros)
        (zeros,) = lax.linalg.eig(
            zeros, compute_left_eigenvectors=False, compute_right_eigenvectors=False
        )
    elif len(dims) != 1:
        raise ValueError(
            f"poly: given an array of shape {dims}, expected a vector of zeros or a square matrix. "
            "Flatten zeros with jnp.ravel."
        )
    found = _poly(zeros)
    return found if dims[0] else found[0]
