"""Polynomials by Horner's rule."""

from collections.abc import Sequence
from typing import Any

from tans_core import typeof
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer


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
    out = coeffs.pop()
    if not coeffs:
        return broadcast_to_shape(out, typeof(x).shape)
    for coeff in reversed(coeffs):
        out = add(mul(out, x), coeff)
    return out
