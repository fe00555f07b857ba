"""Choices between values: select_n, select, clamp."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

select_n_p: Final = Primitive("select_n", family=__name__)
clamp_p: Final = Primitive("clamp", family=__name__)


def select_n(which: Value, *cases: Value) -> Value:
    """Choose among several arrays, element by element.

    Args:
      which: index of the case to take; boolean or integer; the shape of the cases,
        or of rank 0. Out-of-range values take the nearest case.
      cases: arrays of one shape and dtype.

    Returns:
      Array of the cases' shape and dtype.

    Raises:
      TypeError: the types of the operands don't fit.
      ValueError: there is no case.

    Example:
      >>> float(lax.select_n(True, 1.0, 2.0))
      2.0
    """
    return select_n_p.bind(which, *cases)


def select(pred: Value, on_true: Value, on_false: Value) -> Value:
    """Choose between two arrays, element by element; both are computed.

    Args:
      pred: boolean array of the shape of the cases, or of rank 0.
      on_true: values where `pred` holds; any shape and dtype.
      on_false: values elsewhere; same shape and dtype as `on_true`.

    Returns:
      Array of the cases' shape and dtype.

    Raises:
      TypeError: the types of the operands don't fit.

    Example:
      >>> float(lax.select(True, 1.0, 2.0))
      1.0
    """
    return select_n_p.bind(pred, on_false, on_true)


def clamp(min: Value, x: Value, max: Value) -> Value:
    """Limit `x` to the range from `min` to `max`; its derivative is 0 at and beyond the bounds.

    Args:
      min: lower bound, of the shape of `x` or of rank 0; same dtype as `x`.
      x: any shape, any dtype but complex ones.
      max: upper bound, like `min`.

    Returns:
      Array of `x`'s shape and dtype.

    Raises:
      TypeError: the types of the operands don't fit.

    Example:
      >>> float(lax.clamp(0.0, 1.5, 1.0))
      1.0
    """
    if type(min) in PYTHON_SCALARS:
        min, x = adapt(min, x)
    if type(max) in PYTHON_SCALARS:
        max, x = adapt(max, x)
    return clamp_p.bind(min, x, max)
