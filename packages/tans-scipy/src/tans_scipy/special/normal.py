"""Error functions, and the distribution function of the normal distribution with its inverse."""

import math
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special.error_functions import wofz
from tans_scipy.special.operands import strong, wide
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer

_ROOT_2: Final = math.sqrt(2)


@composite
def erf(x: ArrayLike) -> Array:
    """Compute the error function.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(erf(0.0))
      0.0
    """
    return lax.erf(*promote_dtypes_inexact("erf", x))


@composite
def erfc(x: ArrayLike) -> Array:
    """Compute ``1 - erf(x)``, accurate for large `x`.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(erfc(0.0))
      1.0
    """
    return lax.erfc(*promote_dtypes_inexact("erfc", x))


@composite
def erfinv(x: ArrayLike) -> Array:
    """Compute the inverse of `erf`; infinite at -1 and 1, nan beyond.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(erfinv(0.0))
      0.0
    """
    return lax.erf_inv(*promote_dtypes_inexact("erfinv", x))


@composite
def erfcinv(y: ArrayLike) -> Array:
    """Compute the inverse of `erfc`, accurate for small `y`.

    Args:
      y: any shape, real, 0 to 2; integers become floats.

    Example:
      >>> abs(float(erfcinv(1.0)))
      0.0
    """
    y = strong("erfcinv", y)
    return (_ndtri(wide(y) / 2) / -_ROOT_2).astype(typeof(y).dtype)


# The product exp(x**2) erfc(x) loses about x**2 units in the last place, and overflows later. From
# the bound on, Laplace's continued fraction is used: erfcx(x) = 1 / sqrt(pi) / (x + 1/2 / (x + 2/2
# / (x + 3/2 / ...))). Its depth is what reaches the precision of the dtype at the bound.
_BOUND_AND_DEPTH: Final = {"float64": (5.0, 32)}
_DEFAULT_BOUND_AND_DEPTH: Final = (3.0, 18)


def _erfcx(x: Value) -> Array:
    dtype = typeof(x).dtype
    bound, depth = _BOUND_AND_DEPTH.get(dtype.name, _DEFAULT_BOUND_AND_DEPTH)
    is_far = x > bound
    near, far = jnp.where(is_far, 0, x), jnp.where(is_far, x, bound)
    tail = far
    for k in range(depth, 0, -1):
        tail = far + (k / 2) / tail
    return jnp.where(is_far, (1 / math.sqrt(math.pi)) / tail, jnp.exp(near * near) * lax.erfc(near))


@composite
def erfcx(x: ArrayLike) -> Array:
    """Compute ``exp(x**2) * erfc(x)`` without overflow for large `x`.

    Args:
      x: any shape, real or complex; integers become floats, a weak type ends.

    Example:
      >>> round(float(erfcx(100.0)), 6)
      0.005642

    References:
      Gautschi, "Efficient computation of the complex error function", 1970.
    """
    (x,) = promote_dtypes_inexact("erfcx", x)
    if dtypes.is_complex(typeof(x).dtype):
        return wofz(lax.complex(-lax.imag(x), lax.real(x)))
    return _erfcx(strong("erfcx", x))


@composite
def ndtr(x: ArrayLike) -> Array:
    """Compute the distribution function of the standard normal distribution.

    Args:
      x: any shape, real; integers become floats, a weak type ends.

    Example:
      >>> float(ndtr(0.0))
      0.5
    """
    return 0.5 * lax.erfc(strong("ndtr", jnp.asarray(x), TypeError) * (-1 / _ROOT_2))


# Wichura, algorithm AS 241: ratios of polynomials in 0.180625 - (p - 1/2)**2 near the middle, in
# sqrt(-log(p)) - 1.6 in the tails and in sqrt(-log(p)) - 5 far out; lowest power first.
_MIDDLE: Final = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_TAIL: Final = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR: Final = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(x: Array, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    above, below = coefficients
    numerator, denominator = above[-1], below[-1]
    for a, b in zip(above[-2::-1], below[-2::-1], strict=True):
        numerator, denominator = numerator * x + a, denominator * x + b
    return numerator / denominator


@custom_jvp
def _ndtri(p: Value) -> Array:
    q = p - 0.5
    is_middle = jnp.abs(q) <= 0.425
    middle = q * _ratio(0.180625 - jnp.square(jnp.where(is_middle, q, 0)), _MIDDLE)
    smaller = jnp.where(is_middle, 0.05, jnp.where(q < 0, p, 1 - p))
    is_inside = smaller > 0
    r = jnp.sqrt(-jnp.log(jnp.where(is_inside, smaller, 0.05)))
    tail = jnp.where(r <= 5, _ratio(r - 1.6, _TAIL), _ratio(r - 5, _FAR))
    tail = jnp.where(is_inside, tail, jnp.where(smaller == 0, np.inf, np.nan))
    return jnp.where(is_middle, middle, jnp.where(q < 0, -tail, tail))


@_ndtri.defjvp
def _ndtri_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (p,), (p_dot,) = primals, tangents
    out = _ndtri(p)
    return out, p_dot * (math.sqrt(2 * math.pi) * jnp.exp(jnp.square(out) / 2))


@composite
def ndtri(p: ArrayLike) -> Array:
    """Compute the inverse of `ndtr`; infinite at 0 and 1, nan beyond.

    Args:
      p: any shape, real; integers become floats, a weak type ends.

    Example:
      >>> round(float(ndtri(0.975)), 2)
      1.96

    References:
      Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988.
    """
    p = strong("ndtri", p, TypeError)
    return _ndtri(wide(p)).astype(typeof(p).dtype)


# The slope of log_ndtr is the normal density divided by ndtr. Both vanish for negative x; their
# ratio is sqrt(2 / pi) / erfcx(-x / sqrt(2)), which is as smooth as erfcx.
def _density_ratio(x: Value) -> Array:
    above, below = jnp.maximum(x, 0), jnp.minimum(x, 0)
    density = jnp.exp(jnp.square(above) / -2) * (1 / math.sqrt(2 * math.pi))
    ratio = density / (0.5 * lax.erfc(above * (-1 / _ROOT_2)))
    tail = math.sqrt(2 / math.pi) / _erfcx(below * (-1 / _ROOT_2))
    return jnp.where(x > 0, ratio, tail)


@custom_jvp
def _log_ndtr(x: Value) -> Array:
    above, below = jnp.maximum(x, 0), jnp.minimum(x, 0)
    tail = jnp.log(0.5 * _erfcx(below * (-1 / _ROOT_2))) - jnp.square(below) / 2
    return jnp.where(x > 0, jnp.log1p(-0.5 * lax.erfc(above * (1 / _ROOT_2))), tail)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _log_ndtr(x), x_dot * _density_ratio(x)


@composite
def _log_ndtr_of(x: Array) -> Array:
    return _log_ndtr(x)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Compute ``log(ndtr(x))``, accurate in both tails.

    Args:
      x: any shape, real; integers become floats, a weak type ends.
      series_order: not used: the tail is a continued fraction of fixed depth. 0 to 30.

    Raises:
      TypeError: `series_order` is not an integer.
      ValueError: `series_order` is out of range.

    Example:
      >>> round(float(log_ndtr(-10.0)), 3)
      -53.231
    """
    if not isinstance(series_order, int):
        raise TypeError(
            f"log_ndtr: given series_order={series_order!r}, expected an integer. Leave it out."
        )
    if not 0 <= series_order <= 30:
        raise ValueError(
            f"log_ndtr: given series_order={series_order}, expected 0 to 30. Leave it out."
        )
    return _log_ndtr_of(strong("log_ndtr", jnp.asarray(x), TypeError))
