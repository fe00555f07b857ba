"""Bitwise operations and shifts."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.aliases import alias
from tans_numpy.ufuncs.makers import binary, unary
from tans_numpy.ufuncs.universal import as_ufunc

_INTS = "booleans or integers"

bitwise_and = as_ufunc(
    binary(lax.bitwise_and, "bitwise_and", "Compute ``x & y`` bit by bit.", _INTS), 2, -1
)
bitwise_or = as_ufunc(
    binary(lax.bitwise_or, "bitwise_or", "Compute ``x | y`` bit by bit.", _INTS), 2, 0
)
bitwise_xor = as_ufunc(
    binary(lax.bitwise_xor, "bitwise_xor", "Compute ``x ^ y`` bit by bit.", _INTS), 2, 0
)
bitwise_not = unary(lax.bitwise_not, "bitwise_not", "Compute ``~x`` bit by bit.", _INTS)
invert = alias(bitwise_not, "invert")
bitwise_invert = alias(bitwise_not, "bitwise_invert")


def _integers(x: Any, y: Any) -> list[Any]:
    if typeof(x).dtype == np.bool_:
        return [lax.convert_element_type(v, dtypes.default_int()) for v in (x, y)]
    return [x, y]


def _shift_left(x: Any, y: Any) -> Any:
    return lax.shift_left(*_integers(x, y))


left_shift = binary(_shift_left, "left_shift", "Shift the bits of `x` left by `y`.", _INTS)
bitwise_left_shift = alias(left_shift, "bitwise_left_shift")


def _shift_right(x: Any, y: Any) -> Any:
    x, y = _integers(x, y)
    if issubdtype(typeof(x).dtype, np.unsignedinteger):
        return lax.shift_right_logical(x, y)
    return lax.shift_right_arithmetic(x, y)


right_shift = binary(
    _shift_right,
    "right_shift",
    "Shift the bits of `x` right by `y`, keeping the sign.",
    _INTS,
    ("x1", "x2"),
)
bitwise_right_shift = alias(right_shift, "bitwise_right_shift")


def _count(x: Any) -> Any:
    if typeof(x).dtype == np.bool_:
        return lax.convert_element_type(x, np.dtype(np.uint8))
    # NumPy counts the bits of the absolute value.
    x = lax.abs(x) if issubdtype(typeof(x).dtype, np.signedinteger) else x
    return lax.convert_element_type(lax.population_count(x), np.dtype(np.uint8))


bitwise_count = unary(
    _count, "bitwise_count", "Count the bits that are 1, in the absolute value.", _INTS
)
