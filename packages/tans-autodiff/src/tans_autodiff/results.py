"""What callers get: arrays in place of Python numbers, symbolic zeros and float0."""

from typing import Any, Final

import numpy as np

from tans_core import ArrayImpl
from tans_core.dtypes import float0
from tans_core.trace import Tracer
from tans_core.types import AbstractValue, ShapedArray
from tans_core.values import typeof
from tans_core.zeros import Zero
from tans_lax.conversion import as_type
from tans_lax.elementwise.identity import copy_p
from tans_lax.rows import zeros_like_aval

_HOST_VALUES: Final = (bool, int, float, complex, np.generic, np.ndarray)


def as_array(x: Any) -> Any:
    """Return `x`, or an array of its type when it is a Python or NumPy value."""
    if type(x) is ArrayImpl or isinstance(x, Tracer):
        return x
    if isinstance(x, _HOST_VALUES) and getattr(x, "dtype", None) != float0:
        return copy_p.bind(x)
    return x


def cotangent_result(ct: Any, primal_aval: AbstractValue) -> Any:
    """Return a cotangent as callers see it.

    Args:
      ct: a value, or a symbolic zero or None for zero.
      primal_aval: type of the input.
    """
    return _result(ct, primal_aval.to_cotangent())


def tangent_result(t: Any, primal_aval: AbstractValue) -> Any:
    """Return a tangent as callers see it.

    Args:
      t: a value, or a symbolic zero or None for zero.
      primal_aval: type of the output.
    """
    return _result(t, primal_aval.to_tangent())


def _result(x: Any, aval: AbstractValue) -> Any:
    if x is None or type(x) is Zero:
        if getattr(aval, "dtype", None) == float0:
            return np.zeros(aval.shape, float0)  # pyright: ignore[reportAttributeAccessIssue]
        return as_array(zeros_like_aval(aval))
    if type(x) is not ArrayImpl and not isinstance(x, Tracer):
        x = as_array(x)
    given = typeof(x)
    if given is not aval and _differs(given, aval):
        return as_type(x, aval.dtype, aval.weak_type)  # pyright: ignore[reportAttributeAccessIssue]
    return x


def _differs(given: AbstractValue, wanted: AbstractValue) -> bool:
    # A rule may lose the weak mark, or compute in another precision than its operand's.
    if not isinstance(given, ShapedArray) or not isinstance(wanted, ShapedArray):
        return False
    return given.dtype != wanted.dtype or given.weak_type is not wanted.weak_type
