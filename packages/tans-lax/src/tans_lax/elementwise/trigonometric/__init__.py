"""Trigonometric and hyperbolic functions with their inverses; angles are in radians."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.accuracy import AccuracyMode, Tolerance
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer
type Accuracy = Tolerance | AccuracyMode | None

sin_p: Final = Primitive("sin", family=__name__)
cos_p: Final = Primitive("cos", family=__name__)
tan_p: Final = Primitive("tan", family=__name__)
asin_p: Final = Primitive("asin", family=__name__)
acos_p: Final = Primitive("acos", family=__name__)
atan_p: Final = Primitive("atan", family=__name__)
atan2_p: Final = Primitive("atan2", family=__name__)
sinh_p: Final = Primitive("sinh", family=__name__)
cosh_p: Final = Primitive("cosh", family=__name__)
tanh_p: Final = Primitive("tanh", family=__name__)
asinh_p: Final = Primitive("asinh", family=__name__)
acosh_p: Final = Primitive("acosh", family=__name__)
atanh_p: Final = Primitive("atanh", family=__name__)
# 1 / cosh(x)**2, the slope of tanh; 1 - tanh(x)**2 would vanish where tanh rounds to 1.
tanh_slope_p: Final = Primitive("tanh_slope", family=__name__)


def sin(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the sine.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.sin(0.0))
      0.0
    """
    return sin_p.bind(x) if accuracy is None else sin_p.bind(x, accuracy=accuracy)


def cos(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the cosine.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.cos(0.0))
      1.0
    """
    return cos_p.bind(x) if accuracy is None else cos_p.bind(x, accuracy=accuracy)


def tan(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the tangent.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.tan(0.0))
      0.0
    """
    return tan_p.bind(x) if accuracy is None else tan_p.bind(x, accuracy=accuracy)


def asin(x: Value) -> Value:
    """Compute the inverse sine, in [-pi/2, pi/2]; nan outside of [-1, 1] for floats.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.asin(0.0))
      0.0
    """
    return asin_p.bind(x)


def acos(x: Value) -> Value:
    """Compute the inverse cosine, in [0, pi]; nan outside of [-1, 1] for floats.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.acos(1.0))
      0.0
    """
    return acos_p.bind(x)


def atan(x: Value) -> Value:
    """Compute the inverse tangent, in [-pi/2, pi/2].

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.atan(0.0))
      0.0
    """
    return atan_p.bind(x)


def atan2(x: Value, y: Value) -> Value:
    """Compute the angle of the point ``(y, x)``: ``atan(x / y)`` in the right quadrant.

    Args:
      x: first operand, the ordinate; any shape, float or complex dtype.
      y: second operand, the abscissa; same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not inexact.

    Example:
      >>> float(lax.atan2(0.0, 1.0))
      0.0
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return atan2_p.bind(x, y)


def sinh(x: Value) -> Value:
    """Compute the hyperbolic sine.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.sinh(0.0))
      0.0
    """
    return sinh_p.bind(x)


def cosh(x: Value) -> Value:
    """Compute the hyperbolic cosine.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.cosh(0.0))
      1.0
    """
    return cosh_p.bind(x)


def tanh(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the hyperbolic tangent.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.tanh(0.0))
      0.0
    """
    return tanh_p.bind(x) if accuracy is None else tanh_p.bind(x, accuracy=accuracy)


def asinh(x: Value) -> Value:
    """Compute the inverse hyperbolic sine.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.asinh(0.0))
      0.0
    """
    return asinh_p.bind(x)


def acosh(x: Value) -> Value:
    """Compute the inverse hyperbolic cosine; nan below 1 for floats.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.acosh(1.0))
      0.0
    """
    return acosh_p.bind(x)


def atanh(x: Value) -> Value:
    """Compute the inverse hyperbolic tangent; nan outside of [-1, 1] for floats.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.atanh(0.0))
      0.0
    """
    return atanh_p.bind(x)


def tanh_slope(x: Value) -> Value:
    """Compute ``1 / cosh(x)**2``, accurate where tanh saturates.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(tanh_slope(0.0))
      1.0
    """
    return tanh_slope_p.bind(x)
