"""Polynomials by Horner's rule."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.creation import full_like
from tans_lax.elementwise.operands import PYTHON_SCALARS, typed_scalar
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer

polynomial_p: Final = Primitive("polynomial", family=__name__)


def polynomial(x: Value, coeffs: Sequence[Value], *, unroll: int | None = None) -> Value:
    """Compute ``coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ...``.

    Args:
      x: any shape, any numeric dtype.
      coeffs: scalars or arrays of `x`'s dtype; of its shape, or of rank 0.
      unroll: accepted for compatibility; all steps are unrolled.

    Returns:
      Array of `x`'s shape and dtype.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> float(lax.polynomial(2.0, [1.0, 0.0, 3.0]))
      13.0
    """
    del unroll
    coeffs = list(coeffs)
    if not coeffs:
        return full_like(x, 0)
    if len(coeffs) == 1:
        return broadcast_to_shape(coeffs[0], typeof(x).shape)
    operands = [x, *coeffs]
    typed = next((v for v in operands if type(v) not in PYTHON_SCALARS), None)
    if typed is not None:
        dtype = typeof(typed).dtype
        operands = [typed_scalar(v, dtype) if type(v) in PYTHON_SCALARS else v for v in operands]
    return polynomial_p.bind(*operands)
