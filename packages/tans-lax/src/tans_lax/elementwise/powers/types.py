"""Type rules of powers and roots."""

from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.elementwise.powers import (
    cbrt_p,
    integer_pow_p,
    one_minus_square_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from tans_lax.elementwise.signatures import (
    FLOATING,
    INEXACT,
    INTEGER,
    NUMBER,
    TypeRule,
    check_dtype,
    check_same_dtype,
    describe,
    joined_type,
    unary,
)


def _integer_pow_type(x: ShapedArray, *, y: int) -> ShapedArray:
    check_dtype("integer_pow", x, NUMBER)
    if y < 0 and issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"lax.integer_pow: given {describe(x)} to the power {y}; expected a power of at least "
            "0 for integers. Convert x to a float dtype first."
        )
    return x


def _pow_type(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", x, INEXACT)
    check_dtype("pow", y, (*INEXACT, *INTEGER))
    if issubdtype(y.dtype, np.integer):
        weak = x.weak_type
        return joined_type("pow", (x, y.update(dtype=x.dtype, weak_type=weak)))
    check_same_dtype("pow", (x, y), "power")
    return joined_type("pow", (x, y))


TYPES: Final[dict[Primitive, TypeRule]] = {
    square_p: unary("square", NUMBER),
    integer_pow_p: _integer_pow_type,
    pow_p: _pow_type,
    sqrt_p: unary("sqrt", INEXACT),
    rsqrt_p: unary("rsqrt", INEXACT),
    cbrt_p: unary("cbrt", FLOATING),
    one_minus_square_p: unary("one_minus_square", NUMBER),
}
