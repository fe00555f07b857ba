"""Powers and roots: square, integer_pow, pow, reciprocal, sqrt, rsqrt, cbrt, one_minus_square."""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.elementwise.accuracy import AccuracyMode, Tolerance
from tans_lax.elementwise.operands import PYTHON_SCALARS, typed_scalar
from tans_xla.sizes import as_int

type Value = Any  # an array, a Python scalar or a tracer
type Accuracy = Tolerance | AccuracyMode | None

square_p: Final = Primitive("square", family=__name__)
integer_pow_p: Final = Primitive("integer_pow", family=__name__)
pow_p: Final = Primitive("pow", family=__name__)
sqrt_p: Final = Primitive("sqrt", family=__name__)
rsqrt_p: Final = Primitive("rsqrt", family=__name__)
cbrt_p: Final = Primitive("cbrt", family=__name__)
one_minus_square_p: Final = Primitive("one_minus_square", family=__name__)


def square(x: Value) -> Value:
    """Compute ``x * x``.

    Args:
      x: any shape, any numeric dtype.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> float(lax.square(3.0))
      9.0
    """
    return square_p.bind(x)


def integer_pow(x: Value, y: int) -> Value:
    """Compute ``x ** y`` for a fixed integer by repeated multiplication; ``x ** 0`` is 1.

    Args:
      x: any shape, any numeric dtype.
      y: a Python integer; not negative when `x` has an integer dtype.

    Raises:
      TypeError: `x` is boolean, or an integer with a negative `y`.

    Example:
      >>> float(lax.integer_pow(2.0, 3))
      8.0
    """
    return integer_pow_p.bind(x, y=int(y) if type(y) is float and y == int(y) else as_int(y))


def pow(x: Value, y: Value) -> Value:
    """Compute ``x ** y``; the slope in `x` of ``x ** 0`` is 0 everywhere.

    Args:
      x: any shape, float or complex dtype.
      y: dtype of `x` or an integer dtype; same shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes don't fit.

    Example:
      >>> float(lax.pow(2.0, 0.5))
      1.4142135381698608
    """
    if type(y) in PYTHON_SCALARS and type(y) is not int:
        if type(x) not in PYTHON_SCALARS:
            y = typed_scalar(y, typeof(x).dtype)
    elif type(x) in PYTHON_SCALARS and type(y) is not int:
        x = typed_scalar(x, typeof(y).dtype)
    return pow_p.bind(x, y)


def reciprocal(x: Value) -> Value:
    """Compute ``1 / x``.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.reciprocal(4.0))
      0.25
    """
    return integer_pow_p.bind(x, y=-1)


def sqrt(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the square root; nan below 0 for floats.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.sqrt(4.0))
      2.0
    """
    return sqrt_p.bind(x) if accuracy is None else sqrt_p.bind(x, accuracy=accuracy)


def rsqrt(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``1 / sqrt(x)``.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.rsqrt(4.0))
      0.5
    """
    return rsqrt_p.bind(x) if accuracy is None else rsqrt_p.bind(x, accuracy=accuracy)


def cbrt(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the real cube root, of either sign.

    Args:
      x: any shape, float dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is not a float.

    Example:
      >>> float(lax.cbrt(-8.0))
      -2.0
    """
    return cbrt_p.bind(x) if accuracy is None else cbrt_p.bind(x, accuracy=accuracy)


def one_minus_square(x: Value) -> Value:
    """Compute ``1 - x**2`` as ``(1 + x) * (1 - x)``, exact to rounding near 1 and -1.

    Args:
      x: any shape, any numeric dtype; integers wrap.

    Raises:
      TypeError: `x` is boolean.

    Example:
      >>> float(lax.one_minus_square(0.5))
      0.75
    """
    return one_minus_square_p.bind(x)
