"""Sums, products, quotients, remainders and powers.

Operands are arrays of any shapes that broadcast, or scalars; they are promoted to one dtype. Python
scalars are weak: they take the array's dtype when its kind allows.
"""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.aliases import alias
from tans_numpy.creation import asarray
from tans_numpy.dims import repeat_cases
from tans_numpy.operands import (
    ArrayLike,
    check_arraylike,
    promote,
    promote_dtypes_inexact,
    promote_inexact,
    scalar_like,
)
from tans_numpy.refusals import refuse_complex
from tans_numpy.ufuncs.comparison import ordered
from tans_numpy.ufuncs.universal import as_ufunc
from tans_xla import composite

type Array = Any


def _is_bool(x: Any) -> bool:
    return typeof(x).dtype == np.bool_


@composite
def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Compute ``x + y``; for booleans the logical or.

    Args:
      x, y: arrays whose shapes broadcast, or scalars.

    Example:
      >>> add(jnp.array([1, 2]), 10)
      Array([11, 12], dtype=int32)
    """
    x, y = promote("add", x, y)
    return lax.bitwise_or(x, y) if _is_bool(x) else lax.add(x, y)


add = as_ufunc(add, 2, 0)


@composite
def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Compute ``x - y``.

    Args:
      x, y: arrays whose shapes broadcast, or scalars; not both boolean.

    Raises:
      TypeError: both operands are boolean.
    """
    x, y = promote("subtract", x, y)
    if _is_bool(x):
        raise TypeError(
            "subtract: given two boolean operands, expected numbers. Use logical_xor for the "
            "difference of booleans."
        )
    return lax.sub(x, y)


subtract = as_ufunc(subtract, 2)


@composite
def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Compute ``x * y``; for booleans the logical and.

    Args:
      x, y: arrays whose shapes broadcast, or scalars.
    """
    x, y = promote("multiply", x, y)
    return lax.bitwise_and(x, y) if _is_bool(x) else lax.mul(x, y)


multiply = as_ufunc(multiply, 2, 1)


@composite
def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute ``x / y`` in floating point.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; integers become the default float.

    Example:
      >>> true_divide(1, jnp.array([2, 4]))
      Array([0.5 , 0.25], dtype=float32)
    """
    x, y = promote_inexact("true_divide", x1, x2)
    return lax.div(x, y)


divide = alias(true_divide, "divide")


@composite
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute the largest integer not above ``x / y``.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.

    Raises:
      TypeError: an operand is complex.
    """
    x, y = promote("floor_divide", x1, x2)
    dtype = typeof(x).dtype
    if dtype == np.bool_:
        dtype = dtypes.default_int()
        x, y = (lax.convert_element_type(v, dtype) for v in (x, y))
    if issubdtype(dtype, np.unsignedinteger):
        return lax.div(x, y)
    if issubdtype(dtype, np.integer):
        quotient = lax.div(x, y)
        signs_differ = lax.ne(lax.sign(x), lax.sign(y))
        inexact = lax.ne(lax.rem(x, y), scalar_like(x, 0))
        select = lax.bitwise_and(signs_differ, inexact)
        return lax.select_n(
            *_same_shape(select, quotient, lax.sub(quotient, scalar_like(quotient, 1)))
        )
    if issubdtype(dtype, np.complexfloating):
        raise TypeError(
            "floor_divide: given complex operands, expected real ones. Divide with x / y, or take "
            "the real parts."
        )
    return _float_divmod(x, y)[0]


def _same_shape(predicate: Any, *cases: Any) -> list[Any]:
    shape = lax.broadcast_shapes(*(typeof(v).shape for v in (predicate, *cases)))
    return repeat_cases(predicate, *cases, shape=shape)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    # Python's rule: the remainder has the divisor's sign, and quotient * y + remainder == x.
    one = scalar_like(y, 1)
    zero = scalar_like(y, 0)
    remainder = lax.rem(x, y)
    # Division by zero gives inf or nan, not the nan that x - nan would make of it.
    dividend = lax.select_n(*_same_shape(lax.eq(y, zero), lax.sub(x, remainder), x))
    quotient = lax.div(dividend, y)
    wrong_sign = lax.bitwise_and(lax.ne(remainder, zero), lax.ne(lax.sign(y), lax.sign(remainder)))
    remainder = lax.select_n(*_same_shape(wrong_sign, remainder, lax.add(remainder, y)))
    quotient = lax.select_n(*_same_shape(wrong_sign, quotient, lax.sub(quotient, one)))
    return lax.round(quotient), remainder


@composite
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute the remainder of ``x / y`` with the sign of `y`.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    x, y = promote("remainder", x1, x2)
    dtype = typeof(x).dtype
    if dtype == np.bool_:
        dtype = dtypes.default_int()
        x, y = (lax.convert_element_type(v, dtype) for v in (x, y))
    if issubdtype(dtype, np.integer):
        y = _nonzero(y)
    if issubdtype(dtype, np.unsignedinteger):
        return lax.rem(x, y)
    zero = scalar_like(x, 0)
    found = lax.rem(x, y)
    wrong_sign = lax.bitwise_and(lax.ne(lax.lt(found, zero), lax.lt(y, zero)), lax.ne(found, zero))
    return lax.select_n(*_same_shape(wrong_sign, found, lax.add(found, y)))


def _nonzero(y: Any) -> Any:
    """Replace 0 by 1 in a divisor, so that remainders are 0 there, unless it is a known number."""
    if isinstance(y, int | np.integer) and y != 0:
        return y
    zero, one = scalar_like(y, 0), lax.full_like(y, 1)
    return lax.select(lax.eq(y, zero), one, y)


mod = alias(remainder, "mod")


@composite
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute the remainder of ``x / y`` with the sign of `x`, as C does.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    x, y = promote("fmod", x1, x2)
    if _is_bool(x):
        return lax.rem(*(lax.convert_element_type(v, dtypes.default_int()) for v in (x, y)))
    return lax.rem(x, _nonzero(y) if issubdtype(typeof(x).dtype, np.integer) else y)


@composite
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Compute ``(floor_divide(x, y), remainder(x, y))``.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    x, y = promote("divmod", x1, x2)
    if issubdtype(typeof(x).dtype, np.floating):
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


@composite
def negative(x: ArrayLike, /) -> Array:
    """Compute ``-x``.

    Args:
      x: any shape, numeric.
    """
    check_arraylike("negative", x)
    return lax.neg(x)


negative = as_ufunc(negative, 1)


@composite
def positive(x: ArrayLike, /) -> Array:
    """Return `x` as an array.

    Args:
      x: any shape, numeric.
    """
    check_arraylike("positive", x)
    return asarray(x)


@composite
def abs(x: ArrayLike, /) -> Array:
    """Compute the absolute value; real for complex operands.

    Args:
      x: any shape.
    """
    check_arraylike("abs", x)
    dtype = typeof(x).dtype
    if dtype == np.bool_ or issubdtype(dtype, np.unsignedinteger):
        return asarray(x)
    return lax.abs(x)


absolute = alias(abs, "absolute")


@composite
def fabs(x: ArrayLike, /) -> Array:
    """Compute the absolute value in floating point.

    Args:
      x: any shape, real.

    Raises:
      TypeError: complex numbers.
    """
    check_arraylike("fabs", x)
    refuse_complex("fabs", x)
    return lax.abs(*promote_dtypes_inexact("fabs", x))


@composite
def sign(x: ArrayLike, /) -> Array:
    """Compute the sign: -1, 0 or 1; nan for nan; ``x / abs(x)`` for complex operands.

    Args:
      x: any shape, numeric.
    """
    check_arraylike("sign", x)
    return lax.sign(x)


@composite
def reciprocal(x: ArrayLike, /) -> Array:
    """Compute ``1 / x`` in floating point.

    Args:
      x: any shape.
    """
    (x,) = promote_dtypes_inexact("reciprocal", x)
    return lax.div(scalar_like(x, 1), x)


@composite
def square(x: ArrayLike, /) -> Array:
    """Compute ``x * x``.

    Args:
      x: any shape.
    """
    check_arraylike("square", x)
    return lax.square(lax.convert_element_type(x, dtypes.default_int()) if _is_bool(x) else x)


def _two_of_one_dtype(function: Any, name: str, summary: str) -> Any:
    def ufunc(x: ArrayLike, y: ArrayLike, /) -> Array:
        return function(*promote(name, x, y))

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = (
        f"{summary}\n\n    Args:\n      x, y: arrays whose shapes broadcast, or scalars."
    )
    return as_ufunc(composite(ufunc), 2)


maximum = _two_of_one_dtype(lax.max, "maximum", "Compute the larger operand; nan if one is nan.")
minimum = _two_of_one_dtype(lax.min, "minimum", "Compute the smaller operand; nan if one is nan.")


@composite
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute the larger operand; the other one where one is nan.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars.
    """
    x, y = promote("fmax", x1, x2)
    return lax.select_n(*_same_shape(lax.bitwise_or(ordered(lax.gt)(x, y), lax.ne(y, y)), y, x))


@composite
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Compute the smaller operand; the other one where one is nan.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars.
    """
    x, y = promote("fmin", x1, x2)
    return lax.select_n(*_same_shape(lax.bitwise_or(ordered(lax.lt)(x, y), lax.ne(y, y)), y, x))
