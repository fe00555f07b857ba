"""Type rules of rounding and inspection of floats."""

from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.elementwise.rounding import (
    RoundingMethod,
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    reduce_precision_p,
    round_p,
)
from tans_lax.elementwise.signatures import FLOATING, TypeRule, always, check_dtype, nary, unary


def _reduce_precision_type(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    check_dtype("reduce_precision", x, FLOATING)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            f"lax.reduce_precision: given exponent_bits={exponent_bits} and "
            f"mantissa_bits={mantissa_bits}; expected at least 1 and 0. Ask for more bits."
        )
    return x


def _round_type(x: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    del rounding_method
    check_dtype("round", x, FLOATING)
    return x


TYPES: Final[dict[Primitive, TypeRule]] = {
    floor_p: unary("floor", FLOATING),
    ceil_p: unary("ceil", FLOATING),
    round_p: _round_type,
    is_finite_p: unary("is_finite", FLOATING, always(np.dtype(bool))),
    nextafter_p: nary("nextafter", FLOATING, promoting="nextafter"),
    reduce_precision_p: _reduce_precision_type,
}
