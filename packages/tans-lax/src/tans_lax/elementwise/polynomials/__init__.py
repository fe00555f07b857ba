"""Polynomials by Horner's rule."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray, typeof
from tans_core.dtype_queries import issubdtype
from tans_lax.conversion import convert_element_type
from tans_lax.creation import full_like
from tans_lax.elementwise.operands import PYTHON_SCALARS, typed_scalar
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer

polynomial_p: Final = Primitive("polynomial", family=__name__)


def polynomial(x: Value, coeffs: Sequence[Value], *, unroll: int | None = None) -> Value:
    """Compute ``coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ...``.

    Args:
      x: any shape, any numeric dtype.
      coeffs: scalars or arrays of `x`'s shape or of rank 0; they are converted to its dtype.
      unroll: accepted for compatibility; all steps are unrolled.

    Returns:
      Array of `x`'s shape and dtype.

    Raises:
      TypeError: the shapes differ.

    Example:
      >>> float(lax.polynomial(2.0, [1.0, 0.0, 3.0]))
      13.0
    """
    del unroll
    coeffs, aval = list(coeffs), typeof(x)
    if not coeffs:
        return full_like(x, 0)
    if len(coeffs) == 1:
        return broadcast_to_shape(_as_type(coeffs[0], aval), aval.shape)
    return polynomial_p.bind(x, *(_as_type(c, aval) for c in coeffs))


def _as_type(x: Value, aval: ShapedArray) -> Value:
    dtype = aval.dtype
    if type(x) in PYTHON_SCALARS:
        if aval.weak_type:
            return {"i": int, "f": float, "c": complex}[dtype.kind](x)
        kind = float if issubdtype(dtype, np.floating) else type(x)
        return dtype.type(x) if dtype.kind in "iu" else typed_scalar(kind(x), dtype)
    return x if typeof(x).dtype == dtype else convert_element_type(x, dtype)
