"""Sums, products and what goes with them: neg, sign, abs, add, sub, mul, div, rem, max, min.

Operands of two-operand functions have one dtype and one shape; an operand of rank 0, or of size 1
along a dimension, is repeated. A Python scalar takes the other operand's dtype if its kind allows.
"""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

neg_p: Final = Primitive("neg", family=__name__)
sign_p: Final = Primitive("sign", family=__name__)
abs_p: Final = Primitive("abs", family=__name__)
add_p: Final = Primitive("add", family=__name__)
sub_p: Final = Primitive("sub", family=__name__)
mul_p: Final = Primitive("mul", family=__name__)
div_p: Final = Primitive("div", family=__name__)
rem_p: Final = Primitive("rem", family=__name__)
max_p: Final = Primitive("max", family=__name__)
min_p: Final = Primitive("min", family=__name__)
# The sum of two tangents or cotangents; unlike `add_p` it takes whatever has tangents.
add_any_p: Final = Primitive("add_any", family=__name__)


def neg(x: Value) -> Value:
    """Compute ``-x``; unsigned integers wrap around.

    Args:
      x: any shape, any numeric dtype.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> float(lax.neg(2.0))
      -2.0
    """
    return neg_p.bind(x)


def sign(x: Value) -> Value:
    """Compute the sign: -1, 0 or 1; ``x / abs(x)`` for complex numbers; nan for nan.

    Args:
      x: any shape, any numeric dtype.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> float(lax.sign(-3.0))
      -1.0
    """
    return sign_p.bind(x)


def abs(x: Value) -> Value:
    """Compute the absolute value; its derivative at 0 is 1 (0 for complex numbers).

    Args:
      x: any shape; signed integer, float or complex dtype.

    Returns:
      Array of `x`'s dtype; of the matching float dtype for complex numbers.

    Raises:
      TypeError: `x` is boolean or unsigned.

    Example:
      >>> float(lax.abs(-3.0))
      3.0
    """
    return abs_p.bind(x)


def add(x: Value, y: Value) -> Value:
    """Compute ``x + y``.

    Args:
      x: any shape, any numeric dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is boolean.

    Example:
      >>> int(lax.add(2, 3))
      5
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return add_p.bind(x, y)


def sub(x: Value, y: Value) -> Value:
    """Compute ``x - y``.

    Args:
      x: any shape, any numeric dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is boolean.

    Example:
      >>> int(lax.sub(2, 3))
      -1
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return sub_p.bind(x, y)


def mul(x: Value, y: Value, *, out_dtype: Any = None) -> Value:
    """Compute ``x * y``.

    Args:
      x: any shape, any numeric dtype.
      y: same dtype and shape as `x`, or of rank 0.
      out_dtype: dtype to multiply in; the operands may then differ in theirs. None means their own.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is boolean.

    Example:
      >>> int(lax.mul(2, 3))
      6
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(x, y)


def div(x: Value, y: Value) -> Value:
    """Compute ``x / y``; integers are divided towards zero, and ``x / 0`` is -1 for them.

    Args:
      x: any shape, any numeric dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is boolean.

    Example:
      >>> int(lax.div(-7, 2))
      -3
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return div_p.bind(x, y)


def rem(x: Value, y: Value) -> Value:
    """Compute the remainder of the division towards zero; it has the sign of `x`.

    Args:
      x: any shape, integer or float dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is boolean or complex.

    Example:
      >>> int(lax.rem(-7, 2))
      -1
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return rem_p.bind(x, y)


def max(x: Value, y: Value) -> Value:
    """Compute the larger one; nan if either is nan; complex numbers by real, then imaginary part.

    On a tie the derivative is shared equally.

    Args:
      x: any shape, any dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> int(lax.max(2, 3))
      3
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return max_p.bind(x, y)


def min(x: Value, y: Value) -> Value:
    """Compute the smaller one; nan if either is nan; complex numbers by real, then imaginary part.

    On a tie the derivative is shared equally.

    Args:
      x: any shape, any dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> int(lax.min(2, 3))
      2
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return min_p.bind(x, y)
