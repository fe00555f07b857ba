"""The parts of complex numbers: real, imag, complex, conj."""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

real_p: Final = Primitive("real", family=__name__)
imag_p: Final = Primitive("imag", family=__name__)
complex_p: Final = Primitive("complex", family=__name__)
conj_p: Final = Primitive("conj", family=__name__)


def real(x: Value) -> Value:
    """Take the real part.

    Args:
      x: any shape, complex dtype.

    Raises:
      TypeError: `x` is not complex.

    Example:
      >>> float(lax.real(1 + 2j))
      1.0
    """
    return real_p.bind(x)


def imag(x: Value) -> Value:
    """Take the imaginary part.

    Args:
      x: any shape, complex dtype.

    Raises:
      TypeError: `x` is not complex.

    Example:
      >>> float(lax.imag(1 + 2j))
      2.0
    """
    return imag_p.bind(x)


def complex(x: Value, y: Value) -> Value:
    """Compute ``x + 1j * y``.

    Args:
      x: real part: any shape, float32 or float64.
      y: imaginary part: same dtype and shape as `x`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype has no complex counterpart.

    Example:
      >>> lax.complex(1.0, 2.0).tolist()
      (1+2j)
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return complex_p.bind(x, y)


def conj(x: Value) -> Value:
    """Compute the complex conjugate; floats become complex.

    Args:
      x: any shape; complex dtype, float32 or float64.

    Returns:
      Array of a complex dtype.

    Raises:
      TypeError: `x` has another dtype.

    Example:
      >>> lax.conj(1 + 2j).tolist()
      (1-2j)
    """
    return conj_p.bind(x, input_dtype=typeof(x).dtype)
