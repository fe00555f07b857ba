"""Operations on bits: not, and, or, xor, shifts, population_count, clz, mulhi."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

not_p: Final = Primitive("not", family=__name__)
and_p: Final = Primitive("and", family=__name__)
or_p: Final = Primitive("or", family=__name__)
xor_p: Final = Primitive("xor", family=__name__)
shift_left_p: Final = Primitive("shift_left", family=__name__)
shift_right_arithmetic_p: Final = Primitive("shift_right_arithmetic", family=__name__)
shift_right_logical_p: Final = Primitive("shift_right_logical", family=__name__)
population_count_p: Final = Primitive("population_count", family=__name__)
clz_p: Final = Primitive("clz", family=__name__)
mulhi_p: Final = Primitive("mulhi", family=__name__)


def bitwise_not(x: Value) -> Value:
    """Invert all bits; logical negation for booleans.

    Args:
      x: any shape, boolean or integer dtype.

    Raises:
      TypeError: `x` has another dtype.

    Example:
      >>> int(lax.bitwise_not(0))
      -1
    """
    return not_p.bind(x)


def bitwise_and(x: Value, y: Value) -> Value:
    """Combine bits: 1 where both are 1.

    Args:
      x: any shape, boolean or integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not boolean or an integer.

    Example:
      >>> int(lax.bitwise_and(6, 3))
      2
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return and_p.bind(x, y)


def bitwise_or(x: Value, y: Value) -> Value:
    """Combine bits: 1 where either is 1.

    Args:
      x: any shape, boolean or integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not boolean or an integer.

    Example:
      >>> int(lax.bitwise_or(6, 3))
      7
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return or_p.bind(x, y)


def bitwise_xor(x: Value, y: Value) -> Value:
    """Combine bits: 1 where they differ.

    Args:
      x: any shape, boolean or integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not boolean or an integer.

    Example:
      >>> int(lax.bitwise_xor(6, 3))
      5
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return xor_p.bind(x, y)


def shift_left(x: Value, y: Value) -> Value:
    """Shift bits to the left; 0 for shifts of the full width or more.

    Args:
      x: any shape, integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not an integer.

    Example:
      >>> int(lax.shift_left(1, 3))
      8
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: Value, y: Value) -> Value:
    """Shift bits to the right and repeat the sign bit.

    Args:
      x: any shape, integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not an integer.

    Example:
      >>> int(lax.shift_right_arithmetic(-8, 1))
      -4
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: Value, y: Value) -> Value:
    """Shift bits to the right and fill with zeros.

    Args:
      x: any shape, integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not an integer.

    Example:
      >>> int(lax.shift_right_logical(8, 1))
      4
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return shift_right_logical_p.bind(x, y)


def population_count(x: Value) -> Value:
    """Count the bits that are 1.

    Args:
      x: any shape, integer dtype.

    Raises:
      TypeError: `x` is not an integer.

    Example:
      >>> int(lax.population_count(7))
      3
    """
    return population_count_p.bind(x)


def clz(x: Value) -> Value:
    """Count the zero bits before the first 1.

    Args:
      x: any shape, integer dtype.

    Raises:
      TypeError: `x` is not an integer.

    Example:
      >>> int(lax.clz(1))
      31
    """
    return clz_p.bind(x)


def mulhi(x: Value, y: Value, /) -> Value:
    """Compute the upper half of the product of two integers.

    Args:
      x: any shape, integer dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not an integer.

    Example:
      >>> int(lax.mulhi(2**30, 4))
      1
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return mulhi_p.bind(x, y)
