"""What callers get: arrays in place of Python numbers, symbolic zeros and float0."""

from typing import Any, Final

import numpy as np
from tans_core._jaxlib import ArrayImpl
from tans_core.dtypes import float0
from tans_core.trace import Tracer
from tans_core.types import AbstractValue
from tans_core.zeros import Zero
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
        return zeros_like_aval(aval)
    return as_array(x)
