"""Type rules of the arithmetic operations."""

from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.elementwise.arithmetic import (
    abs_p,
    add_any_p,
    add_p,
    div_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    sub_p,
)
from tans_lax.elementwise.signatures import (
    ANY,
    COMPLEX,
    FLOATING,
    INTEGER,
    NUMBER,
    TypeRule,
    joined_type,
    nary,
    unary,
)


def real_part_dtype(aval: ShapedArray) -> np.dtype:
    """Return the dtype of the real part of values of this type."""
    return aval.dtype.type(0).real.dtype if aval.dtype.kind == "c" else aval.dtype


def _add_any_type(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    return joined_type("add_any", (x, y))


TYPES: Final[dict[Primitive, TypeRule]] = {
    neg_p: unary("neg", NUMBER),
    sign_p: unary("sign", NUMBER),
    abs_p: unary("abs", (np.signedinteger, *FLOATING, *COMPLEX), real_part_dtype),
    add_p: nary("add", NUMBER, promoting="add"),
    sub_p: nary("sub", NUMBER, promoting="subtract"),
    mul_p: nary("mul", NUMBER, promoting="multiply"),
    div_p: nary("div", NUMBER, promoting="divide"),
    rem_p: nary("rem", (*INTEGER, *FLOATING), promoting="fmod"),
    max_p: nary("max", ANY, promoting="maximum"),
    min_p: nary("min", ANY, promoting="minimum"),
    add_any_p: _add_any_type,
}
