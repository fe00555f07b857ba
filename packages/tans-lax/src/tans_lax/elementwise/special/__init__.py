"""Special functions: error functions, gamma and its relatives, Hurwitz zeta, Bessel."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.accuracy import AccuracyMode, Tolerance
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer
type Accuracy = Tolerance | AccuracyMode | None

erf_p: Final = Primitive("erf", family=__name__)
erfc_p: Final = Primitive("erfc", family=__name__)
erf_inv_p: Final = Primitive("erf_inv", family=__name__)
lgamma_p: Final = Primitive("lgamma", family=__name__)
digamma_p: Final = Primitive("digamma", family=__name__)
polygamma_p: Final = Primitive("polygamma", family=__name__)
zeta_p: Final = Primitive("zeta", family=__name__)
bessel_i1e_p: Final = Primitive("bessel_i1e", family=__name__)


def erf(x: Value) -> Value:
    """Compute the error function, ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.erf(0.0))
      0.0
    """
    return erf_p.bind(x)


def erfc(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``1 - erf(x)``, accurate for large `x`.

    Args:
      x: any shape, float dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.erfc(0.0))
      1.0
    """
    return erfc_p.bind(x) if accuracy is None else erfc_p.bind(x, accuracy=accuracy)


def erf_inv(x: Value) -> Value:
    """Compute the inverse of `erf`; infinite at -1 and 1, nan beyond.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.erf_inv(0.0))
      0.0
    """
    return erf_inv_p.bind(x)


def lgamma(x: Value) -> Value:
    """Compute the logarithm of the absolute value of the gamma function.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.lgamma(1.0))
      0.0
    """
    return lgamma_p.bind(x)


def digamma(x: Value) -> Value:
    """Compute the slope of `lgamma`.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> round(float(lax.digamma(1.0)), 4)
      -0.5772
    """
    return digamma_p.bind(x)


def polygamma(m: Value, x: Value) -> Value:
    """Compute the `m`-th derivative of `digamma`.

    Args:
      m: order, whole numbers of a float dtype; any shape. No derivative exists in it.
      x: same dtype and shape as `m`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.polygamma(1.0, 1.0)), 4)
      1.6449
    """
    if type(m) in PYTHON_SCALARS or type(x) in PYTHON_SCALARS:
        m, x = adapt(m, x)
    return polygamma_p.bind(m, x)


def zeta(x: Value, q: Value) -> Value:
    """Compute the Hurwitz zeta function, the sum of ``(k + q) ** -x`` over k = 0, 1, 2...

    Args:
      x: exponent, float dtype, any shape. No derivative exists in it.
      q: offset: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.zeta(2.0, 1.0)), 4)
      1.6449
    """
    if type(x) in PYTHON_SCALARS or type(q) in PYTHON_SCALARS:
        x, q = adapt(x, q)
    return zeta_p.bind(x, q)


def bessel_i1e(x: Value) -> Value:
    """Compute the modified Bessel function of order 1, times ``exp(-abs(x))``.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.bessel_i1e(0.0))
      0.0
    """
    return bessel_i1e_p.bind(x)
