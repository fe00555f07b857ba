"""Changes of dtype: convert_element_type by value, bitcast_convert_type by bits."""

import warnings
from typing import Any, Final

import numpy as np

from tans_core import Array, Primitive, dtypes, typeof

type Value = Any  # an array, a Python scalar or a tracer
type DTypeLike = Any  # a dtype, its name, or a scalar class

convert_element_type_p: Final = Primitive("convert_element_type", family=__name__)
bitcast_convert_type_p: Final = Primitive("bitcast_convert_type", family=__name__)


def convert_element_type(operand: Value, new_dtype: DTypeLike) -> Value:
    """Convert the elements to another dtype, by value as NumPy's ``astype`` does.

    Args:
      operand: any shape, any dtype.
      new_dtype: dtype of the result, which is never weak.

    Raises:
      TypeError: there is no such dtype; Python's complex numbers are given for a real one.
      ValueError: numbers are given for keys, or keys for numbers.

    Warns:
      ComplexWarning: imaginary parts of an array are dropped.

    Example:
      >>> int(lax.convert_element_type(1.7, "int32"))
      1
    """
    dtype = dtypes.requested(new_dtype, "lax.convert_element_type")
    aval = typeof(operand)
    if aval.dtype == dtype and not aval.weak_type and isinstance(operand, Array):
        return operand
    if dtypes.is_complex(aval.dtype) and not (dtypes.is_complex(dtype) or dtype == np.bool_):
        if isinstance(operand, complex) and not isinstance(operand, np.generic):
            raise TypeError(
                f"lax.convert_element_type: given {operand}, expected a real number for dtype "
                f"{dtype}. Take its real part."
            )
        warnings.warn(
            "lax.convert_element_type: given complex numbers; expected real ones for dtype "
            f"{dtype}: imaginary parts are dropped. Use lax.real to say so.",
            np.exceptions.ComplexWarning,
            stacklevel=2,
        )
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False, sharding=None)


def as_type(operand: Value, dtype: Any, weak_type: bool) -> Value:
    """Give a value a canonical dtype and a weak mark; for the layers above, without warnings.

    Args:
      operand: any shape, any dtype.
      dtype: canonical dtype of the result.
      weak_type: whether the result is weak.
    """
    aval = typeof(operand)
    if aval.dtype == dtype and aval.weak_type is weak_type and isinstance(operand, Array):
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type, sharding=None)


def bitcast_convert_type(operand: Value, new_dtype: DTypeLike) -> Value:
    """Read the bits of the elements as another dtype.

    Args:
      operand: any shape; any dtype but bool and complex ones.
      new_dtype: dtype of the result. If it is n times narrower, a last dimension of size n is
        added; if n times wider, a last dimension of size n is removed.

    Raises:
      TypeError: a dtype is boolean or complex, and they differ.
      ValueError: the last dimension doesn't have the size that the widths ask for.

    Example:
      >>> int(lax.bitcast_convert_type(1.0, "int32"))
      1065353216
    """
    dtype = dtypes.requested(new_dtype, "lax.bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


def dtype(x: Value) -> Any:
    """Return the dtype that a value has as an array.

    Args:
      x: array, tracer, NumPy array or Python scalar.

    Raises:
      TypeError: `x` is not an array.

    Example:
      >>> lax.dtype(1.5)
      dtype('float32')
    """
    return typeof(x).dtype
