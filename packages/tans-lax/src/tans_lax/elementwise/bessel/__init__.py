"""The modified Bessel function of order 0; that of order 1 is an operation of the compiler."""

from typing import Any, Final

from tans_core import Primitive

type Value = Any  # an array, a Python scalar or a tracer

bessel_i0e_p: Final = Primitive("bessel_i0e", family=__name__)


def bessel_i0e(x: Value) -> Value:
    """Compute the modified Bessel function of order 0, times ``exp(-abs(x))``.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.bessel_i0e(0.0))
      1.0
    """
    return bessel_i0e_p.bind(x)
