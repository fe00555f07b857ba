"""Powers."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.aliases import alias
from tans_numpy.dims import repeat_to as _repeat
from tans_numpy.operands import (
    ArrayLike,
    check_arraylike,
    promote,
    promote_inexact,
    scalar_like,
)
from tans_xla import composite

type Array = Any


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute ``x ** y``.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars. A Python integer `x2` is compiled in, as
        repeated multiplication. Two booleans become the default integer.

    Raises:
      TypeError: integers to a negative power that is a single known number; with exponents that
        are traced or arrays the result is 0, or 1 and -1 for these bases.

    Example:
      >>> power(jnp.array([1.0, 2.0, 3.0]), 2)
      Array([1., 4., 9.], dtype=float32)
    """
    if type(x2) is int:
        if x2 < 0:
            _check_exponent(x1, x2)
        if not isinstance(x1, bool | int | float | complex):
            return _integer_power(x1, y=x2)
    elif getattr(x2, "shape", None) == () and not isinstance(x2, Tracer):
        _check_exponent(x1, x2)
    return _power(x1, x2)


def _check_exponent(base: ArrayLike, exponent: ArrayLike) -> None:
    """Refuse integers to a known negative power, which would be 0 for nearly all of them."""
    check_arraylike("power", base, exponent)
    kinds = [typeof(v).dtype.kind for v in (base, exponent)]
    if kinds[1] == "i" and kinds[0] in "iu" and int(exponent) < 0:
        raise TypeError(
            f"power: given an integer to the power {int(exponent)}, expected an exponent of at "
            "least 0. Convert the base first: x.astype(float)."
        )


@composite(static_argnames=("y",))
def _integer_power(x: ArrayLike, *, y: int) -> Array:
    check_arraylike("power", x)
    aval = typeof(x)
    if issubdtype(aval.dtype, np.bool_):
        x = lax.convert_element_type(x, dtypes.default_int())
        aval = typeof(x)
    if y < 0 and not dtypes.is_inexact(aval.dtype):
        x, exponent = promote("power", x, y)
        return lax.pow(x, exponent)
    if y == 0:
        return lax.full_like(x, 1)
    return lax.integer_pow(x, y)


@composite
def _power(x: ArrayLike, y: ArrayLike, /) -> Array:
    check_arraylike("power", x, y)
    base, exponent = typeof(x), typeof(y)
    if base.dtype == np.bool_ and exponent.dtype == np.bool_:
        x, y = (lax.convert_element_type(v, dtypes.default_int()) for v in (x, y))
    if issubdtype(exponent.dtype, np.integer) and dtypes.is_inexact(base.dtype):
        # An integer exponent keeps the base's dtype and its exact slope at 0.
        x, y = promote("power", x, y)
        return lax.pow(x, y)
    x, y = promote("power", x, y)
    if dtypes.is_inexact(typeof(x).dtype):
        return lax.pow(x, y)
    return _power_by_squaring(x, y)


def _power_by_squaring(x: Any, y: Any) -> Array:
    """Multiply the powers x, x**2, x**4, ... that the bits of `y` select; wraps around.

    A negative exponent gives what integer division rounds to: 0, except for bases 1 and -1.
    """
    dtype = typeof(x).dtype
    zero, one = scalar_like(x, 0), scalar_like(x, 1)
    shape = lax.broadcast_shapes(typeof(x).shape, typeof(y).shape)
    base, exponent = _repeat(x, shape), _repeat(y, shape)
    if typeof(base).weak_type and not typeof(exponent).weak_type:
        base = lax.convert_element_type(base, dtype)

    def unfinished(state: Any) -> Any:
        return lax.reduce_or(lax.ne(state[2], zero), tuple(range(len(shape))))

    def step(state: Any) -> Any:
        result, base, exponent = state
        odd = lax.ne(lax.bitwise_and(exponent, one), zero)
        result = lax.select(odd, lax.mul(result, base), result)
        return result, lax.mul(base, base), lax.shift_right_logical(exponent, one)

    result = lax.while_loop(unfinished, step, (lax.full_like(base, 1), base, exponent))[0]
    if dtype.kind == "u":
        return result
    is_negative = lax.lt(_repeat(y, shape), zero)
    unit = lax.select(
        lax.eq(lax.bitwise_and(_repeat(y, shape), one), zero),
        lax.full_like(base, 1),
        _repeat(lax.sign(x), shape),
    )
    magnitude_one = lax.eq(lax.abs(_repeat(x, shape)), one)
    return lax.select(is_negative, lax.select(magnitude_one, unit, lax.full_like(unit, 0)), result)


pow = alias(power, "pow")


@composite
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Compute ``x ** y`` in floating point.

    Args:
      x, y: arrays whose shapes broadcast, or scalars; integers become the default float.
    """
    return lax.pow(*promote_inexact("float_power", x, y))
