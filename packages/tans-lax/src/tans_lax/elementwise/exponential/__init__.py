"""Exponentials and logarithms: exp, exp2, expm1, log, log1p, log2, logistic."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.accuracy import AccuracyMode, Tolerance

type Value = Any  # an array, a Python scalar or a tracer
type Accuracy = Tolerance | AccuracyMode | None

exp_p: Final = Primitive("exp", family=__name__)
exp2_p: Final = Primitive("exp2", family=__name__)
expm1_p: Final = Primitive("expm1", family=__name__)
log_p: Final = Primitive("log", family=__name__)
log1p_p: Final = Primitive("log1p", family=__name__)
log2_p: Final = Primitive("log2", family=__name__)
logistic_p: Final = Primitive("logistic", family=__name__)
logistic_slope_p: Final = Primitive("logistic_slope", family=__name__)


def exp(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``e ** x``.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.exp(0.0))
      1.0
    """
    return exp_p.bind(x) if accuracy is None else exp_p.bind(x, accuracy=accuracy)


def exp2(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``2 ** x``.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.exp2(0.0))
      1.0
    """
    return exp2_p.bind(x) if accuracy is None else exp2_p.bind(x, accuracy=accuracy)


def expm1(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``exp(x) - 1``, accurate near 0.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.expm1(0.0))
      0.0
    """
    return expm1_p.bind(x) if accuracy is None else expm1_p.bind(x, accuracy=accuracy)


def log(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the natural logarithm; nan below 0 for floats.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.log(1.0))
      0.0
    """
    return log_p.bind(x) if accuracy is None else log_p.bind(x, accuracy=accuracy)


def log1p(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute ``log(1 + x)``, accurate near 0.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.log1p(0.0))
      0.0
    """
    return log1p_p.bind(x) if accuracy is None else log1p_p.bind(x, accuracy=accuracy)


def log2(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the logarithm to base 2.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.log2(1.0))
      0.0
    """
    return log2_p.bind(x) if accuracy is None else log2_p.bind(x, accuracy=accuracy)


def logistic(x: Value, *, accuracy: Accuracy = None) -> Value:
    """Compute the logistic sigmoid ``1 / (1 + exp(-x))``.

    Args:
      x: any shape, float or complex dtype.
      accuracy: requested accuracy; None leaves it to the compiler.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(lax.logistic(0.0))
      0.5
    """
    return logistic_p.bind(x) if accuracy is None else logistic_p.bind(x, accuracy=accuracy)


def logistic_slope(x: Value) -> Value:
    """Compute ``s(x) s(-x)``, the derivative of the sigmoid s, accurate where it saturates.

    Args:
      x: any shape, float or complex dtype.

    Raises:
      TypeError: `x` is boolean or an integer.

    Example:
      >>> float(logistic_slope(0.0))
      0.25
    """
    return logistic_slope_p.bind(x)
