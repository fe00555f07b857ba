"""The gamma function and its relatives: logarithms, derivatives, incomplete forms, beta."""

import math
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special.complex_gamma import complex_loggamma
from tans_scipy.special.operands import broadcast, refuse_complex, strong
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer


@composite
def gammaln(x: ArrayLike) -> Array:
    """Compute the logarithm of the absolute value of the gamma function.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> round(float(gammaln(5.0)), 4)
      3.1781
    """
    return lax.lgamma(*promote_dtypes_inexact("gammaln", x))


@composite
def loggamma(x: ArrayLike) -> Array:
    """Compute the logarithm of the gamma function; of complex numbers, its principal branch.

    Args:
      x: any shape, real or complex; integers become floats. The branch is continuous but for a cut
        along the negative real axis; real negative numbers, which lie on it, give nan.

    Example:
      >>> round(float(loggamma(5.0)), 4)
      3.1781
    """
    (x,) = promote_dtypes_inexact("loggamma", x)
    if dtypes.is_complex(typeof(x).dtype):
        return complex_loggamma(x)
    return jnp.where(x < 0, np.nan, lax.lgamma(x))


def _sign(x: Array) -> Array:
    floor = lax.floor(x)
    is_odd = jnp.remainder(floor, 2) != 0
    below = jnp.where((x == floor) | (x != x), np.nan, jnp.where(is_odd, -1, 1))
    at_0 = jnp.where(jnp.signbit(x), -1, 1)
    return jnp.where(x > 0, 1, jnp.where(x == 0, at_0, below)).astype(typeof(x).dtype)


@composite
def gammasgn(x: ArrayLike) -> Array:
    """Compute the sign of the gamma function; nan at negative integers.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Example:
      >>> float(gammasgn(-0.5))
      -1.0
    """
    return _sign(strong("gammasgn", x))


@composite
def gamma(x: ArrayLike) -> Array:
    """Compute the gamma function.

    Args:
      x: any shape, real or complex; integers become floats, a weak type ends.

    Example:
      >>> round(float(gamma(5.0)), 3)
      24.0
    """
    (x,) = promote_dtypes_inexact("gamma", x)
    x = lax.convert_element_type(x, typeof(x).dtype)
    if dtypes.is_complex(typeof(x).dtype):
        return lax.exp(complex_loggamma(x))
    return _sign(x) * lax.exp(lax.lgamma(x))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Compute ``gamma(n + 1)``; 0 for negative `n`.

    Args:
      n: any shape, real; integers become floats.
      exact: not supported.

    Raises:
      NotImplementedError: `exact` is True.

    Example:
      >>> round(float(factorial(5)), 3)
      120.0
    """
    if exact:
        raise NotImplementedError(
            "factorial: given exact=True, expected False: results are floating-point numbers. Use "
            "math.factorial for exact integers."
        )
    return _factorial(n)


@composite
def _factorial(n: Any) -> Array:
    (n,) = promote_dtypes_inexact("factorial", n)
    safe = jnp.where(n < 0, 0, n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(safe + 1)))


@composite
def digamma(x: ArrayLike) -> Array:
    """Compute the slope of `gammaln`.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> round(float(digamma(1.0)), 4)
      -0.5772
    """
    return lax.digamma(*promote_dtypes_inexact("digamma", x))


@composite
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Compute the `n`-th derivative of `digamma`.

    Args:
      n: order, integers of at least 0; broadcasts with `x`.
      x: any shape, real; integers become floats.

    Raises:
      ValueError: `n` is not of an integer dtype.

    Example:
      >>> round(float(polygamma(1, 1.0)), 4)
      1.6449
    """
    if not issubdtype(typeof(n).dtype, np.integer):
        raise ValueError(
            f"polygamma: given an order of {typeof(n).dtype}, expected integers. Convert it with "
            "n.astype(int)."
        )
    n, x = broadcast("polygamma", n, x)
    is_zero = n == 0
    return jnp.where(is_zero, lax.digamma(x), lax.polygamma(jnp.where(is_zero, 1, n), x))


@composite
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Compute the Hurwitz zeta function, the sum of ``(k + q) ** -x`` over k = 0, 1, 2...

    Args:
      x: exponent, real; integers become floats.
      q: offset, broadcasts with `x`; 1 if None, which gives the Riemann function for `x` > 1.

    Example:
      >>> round(float(zeta(2.0, 1.0)), 4)
      1.6449
    """
    return lax.zeta(*broadcast("zeta", x, 1.0 if q is None else q))


# lgamma(x) is (x - 1/2) log(x) - x + log(2 pi) / 2 + r(x), where r has this asymptotic series in
# odd powers of 1 / x (Abramowitz and Stegun 6.1.41). With it the large parts of
# lgamma(b) - lgamma(a + b) cancel by algebra instead of in floating point:
#   -(b - 1/2) log1p(a / b) - a log(a + b) + a + r(b) - r(a + b).
_REMAINDER: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LARGE: Final = 10.0


def _remainder(x: Array) -> Array:
    inverse = 1 / x
    square, total = inverse * inverse, _REMAINDER[-1]
    for c in _REMAINDER[-2::-1]:
        total = total * square + c
    return total * inverse


def _betaln(a: Array, b: Array) -> Array:
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    is_plain = (a <= 0) | (b < _LARGE)
    is_both = a >= _LARGE
    plain = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    small = jnp.where(is_plain | is_both, 1, a)
    large = jnp.where(is_plain, _LARGE, b)
    both = jnp.where(is_both, a, _LARGE)
    ratio = jnp.log1p(jnp.where(is_both, both, small) / large)
    one_large = (
        lax.lgamma(small) - (large - 0.5) * ratio - small * jnp.log(small + large) + small
        + _remainder(large) - _remainder(small + large)
    )  # fmt: skip
    two_large = (
        0.5 * math.log(2 * math.pi) - 0.5 * jnp.log(both) - both * jnp.log1p(large / both)
        - (large - 0.5) * ratio + _remainder(both) + _remainder(large) - _remainder(both + large)
    )  # fmt: skip
    return jnp.where(is_plain, plain, jnp.where(is_both, two_large, one_large))


@composite
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute the logarithm of the absolute value of the beta function.

    Args:
      a, b: shapes that broadcast, real; integers become floats.

    Example:
      >>> round(float(betaln(2.0, 3.0)), 4)
      -2.4849

    References:
      Didonato and Morris, "Algorithm 708", 1992.
    """
    a, b = broadcast("betaln", a, b)
    refuse_complex("betaln", a, error=TypeError)
    return _betaln(a, b)


@composite
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute ``gamma(a) * gamma(b) / gamma(a + b)``.

    Args:
      a, b: shapes that broadcast, real; integers become floats.

    Example:
      >>> round(float(beta(2.0, 3.0)), 4)
      0.0833
    """
    a, b = broadcast("beta", a, b)
    refuse_complex("beta", a)
    return _sign(a) * _sign(b) * _sign(a + b) * lax.exp(_betaln(a, b))


@composite
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Compute the regularised incomplete beta function.

    Args:
      a, b: positive parameters, shapes that broadcast; integers become floats.
      x: upper bound of the integral, 0 to 1.

    Example:
      >>> round(float(betainc(1.0, 2.0, 0.5)), 4)
      0.75
    """
    return lax.betainc(*broadcast("betainc", a, b, x))


@composite
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Compute the regularised lower incomplete gamma function.

    Args:
      a: positive parameter, broadcasts with `x`; integers become floats.
      x: upper bound of the integral, at least 0.

    Example:
      >>> round(float(gammainc(1.0, 1.0)), 4)
      0.6321
    """
    return lax.igamma(*broadcast("gammainc", a, x))


@composite
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Compute ``1 - gammainc(a, x)``, accurate for large `x`.

    Args:
      a: positive parameter, broadcasts with `x`; integers become floats.
      x: lower bound of the integral, at least 0.

    Example:
      >>> round(float(gammaincc(1.0, 1.0)), 4)
      0.3679
    """
    return lax.igammac(*broadcast("gammaincc", a, x))


def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """Compute the logarithm of the multivariate gamma function.

    Args:
      a: any shape, real, more than ``(d - 1) / 2``; integers become floats.
      d: dimension of the space, a static integer.

    Example:
      >>> round(float(multigammaln(3.0, 2)), 4)
      1.5502
    """
    d = int(np.asarray(d))
    a = strong("multigammaln", a)
    shifts = np.arange(d) / 2
    terms = lax.lgamma(jnp.expand_dims(a, -1) - shifts.astype(typeof(a).dtype))
    return jnp.sum(terms, -1) + d * (d - 1) / 4 * math.log(math.pi)


@composite
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Compute ``gamma(z + m) / gamma(z)``, the rising factorial.

    Args:
      z, m: shapes that broadcast, real; integers become floats.

    Example:
      >>> round(float(poch(1.0, 3.0)), 4)
      6.0
    """
    z, m = broadcast("poch", z, m)
    refuse_complex("poch", z)
    z, m = (lax.convert_element_type(v, typeof(v).dtype) for v in (z, m))
    sign = _sign(z + m) * _sign(z)
    return jnp.where(m == 0, 1, sign * lax.exp(lax.lgamma(z + m) - lax.lgamma(z)))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Compute the number of ways to choose `k` of `N` things.

    Args:
      N, k: shapes that broadcast, real; integers become floats.
      repetition: whether a thing can be chosen more than once.

    Example:
      >>> round(float(comb(5, 2)), 3)
      10.0
    """
    if repetition:
        N = jnp.where(jnp.equal(N, 0), jnp.equal(k, 0), jnp.add(N, k) - 1)
    return _comb(N, k)


@composite
def _comb(n: Any, k: Any) -> Array:
    n, k = broadcast("comb", n, k)
    is_valid = (k >= 0) & (k <= n)
    n, k = jnp.where(is_valid, n, 1), jnp.where(is_valid, k, 0)
    return jnp.where(is_valid, lax.exp(-jnp.log1p(n) - _betaln(n - k + 1, k + 1)), 0)
