"""What public functions do with Python scalars before binding.

A Python scalar takes the dtype of the array it meets when its kind allows: a float any float or
complex dtype, an int any integer dtype. Other pairs are left alone, and the type rule refuses them.
"""

from typing import Any, Final

import numpy as np

from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype

type Value = Any  # an array, a Python scalar or a tracer

PYTHON_SCALARS: Final = frozenset({int, float, complex})
_ABSTRACT: Final = {
    int: (np.integer,),
    float: (np.floating, np.complexfloating),
    complex: (np.complexfloating,),
}
_DEFAULT: Final = {
    int: dtypes.default_int,
    float: dtypes.default_float,
    complex: dtypes.default_complex,
}


def adapt(x: Value, y: Value) -> tuple[Value, Value]:
    """Give a Python scalar among two operands the dtype of the other one."""
    if type(x) in PYTHON_SCALARS:
        if type(y) in PYTHON_SCALARS:
            return x, y
        return typed_scalar(x, typeof(y).dtype), y
    return x, typed_scalar(y, typeof(x).dtype)


def typed_scalar(value: complex, dtype: Any) -> Value:
    """Return a Python scalar as a scalar of `dtype`, or itself when it has that dtype anyway.

    Raises:
      OverflowError: an integer is out of the range of `dtype`.
    """
    kind = type(value)
    if dtype == _DEFAULT[kind]():
        return value
    if not dtypes.is_extended(dtype) and any(
        issubdtype(dtype, abstract) for abstract in _ABSTRACT[kind]
    ):
        return dtype.type(value)
    return value
