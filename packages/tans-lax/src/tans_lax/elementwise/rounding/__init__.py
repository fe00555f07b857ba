"""Rounding and inspection of floats: floor, ceil, round, is_finite, nextafter, reduce_precision."""

from enum import IntEnum
from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt
from tans_xla.sizes import as_int

type Value = Any  # an array, a Python scalar or a tracer

floor_p: Final = Primitive("floor", family=__name__)
ceil_p: Final = Primitive("ceil", family=__name__)
round_p: Final = Primitive("round", family=__name__)
is_finite_p: Final = Primitive("is_finite", family=__name__)
nextafter_p: Final = Primitive("nextafter", family=__name__)
reduce_precision_p: Final = Primitive("reduce_precision", family=__name__)


class RoundingMethod(IntEnum):
    """What `round` does with values half-way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def floor(x: Value) -> Value:
    """Round down to an integer; the derivative is 0.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.floor(-1.5))
      -2.0
    """
    return floor_p.bind(x)


def ceil(x: Value) -> Value:
    """Round up to an integer; the derivative is 0.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.ceil(-1.5))
      -1.0
    """
    return ceil_p.bind(x)


def round(x: Value, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """Round to the nearest integer; the derivative is 0.

    Args:
      x: any shape, float dtype.
      rounding_method: where values half-way between two integers go.

    Raises:
      TypeError: `x` is not a float.
      ValueError: `rounding_method` is not a `RoundingMethod`.

    Example:
      >>> float(lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN))
      2.0
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: Value) -> Value:
    """Tell which elements are neither infinite nor nan.

    Args:
      x: any shape, float dtype.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> bool(lax.is_finite(1.0))
      True
    """
    return is_finite_p.bind(x)


def nextafter(x1: Value, x2: Value) -> Value:
    """Compute the next float after `x1` towards `x2`.

    Args:
      x1: any shape, float dtype.
      x2: same dtype and shape as `x1`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> float(lax.nextafter(1.0, 2.0))
      1.0000001192092896
    """
    if type(x1) in PYTHON_SCALARS or type(x2) in PYTHON_SCALARS:
        x1, x2 = adapt(x1, x2)
    return nextafter_p.bind(x1, x2)


def reduce_precision(operand: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Round to the nearest value of a float format with fewer bits; the dtype stays.

    Args:
      operand: any shape, float dtype.
      exponent_bits: bits of the exponent, at least 1.
      mantissa_bits: bits of the mantissa, at least 0.

    Raises:
      TypeError: `operand` is not a float.
      ValueError: too few bits.

    Example:
      >>> float(lax.reduce_precision(1.1, exponent_bits=5, mantissa_bits=2))
      1.0
    """
    return reduce_precision_p.bind(
        operand, exponent_bits=as_int(exponent_bits), mantissa_bits=as_int(mantissa_bits)
    )
