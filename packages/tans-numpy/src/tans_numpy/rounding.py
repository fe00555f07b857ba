"""Rounding to integers and decimals."""

import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.aliases import alias
from tans_numpy.creation import asarray
from tans_numpy.operands import ArrayLike, check_arraylike, scalar_like
from tans_xla import composite

type Array = Any


def _to_integer(operation: Any, name: str, summary: str, keeps_integers: bool = True) -> Any:
    def ufunc(x: ArrayLike, /) -> Array:
        check_arraylike(name, x)
        dtype = typeof(x).dtype
        if not dtypes.is_inexact(dtype):
            _check_number(name, dtype)
            if keeps_integers:
                return asarray(x)
            return lax.convert_element_type(x, dtypes.default_float())
        return operation(x)

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = f"{summary}\n\n    Args:\n      x: array of any shape, or a scalar; real.\n"
    return composite(ufunc)


def _check_number(name: str, dtype: Any) -> None:
    if dtypes.is_extended(dtype) or dtype == dtypes.float0:
        raise TypeError(f"{name}: given the dtype {dtype}, expected numbers. Leave them out.")


floor = _to_integer(lax.floor, "floor", "Round down to an integer.")
ceil = _to_integer(lax.ceil, "ceil", "Round up to an integer.")


def _toward_zero(x: Any) -> Any:
    return lax.select(lax.lt(x, scalar_like(x, 0)), lax.ceil(x), lax.floor(x))


_trunc = _to_integer(_toward_zero, "trunc", "Round toward zero to an integer.")


def trunc(x: ArrayLike) -> Array:
    """Round toward zero to an integer.

    Args:
      x: array of any shape, or a scalar; real.
    """
    return _trunc(x)


def _half_to_even(x: Any) -> Any:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _complex_half_to_even(x: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        return lax.complex(_half_to_even(lax.real(x)), _half_to_even(lax.imag(x)))
    return _half_to_even(x)


rint = _to_integer(
    _complex_half_to_even,
    "rint",
    "Round to the nearest integer, halves to even; integers become the default float.",
    keeps_integers=False,
)


def _round(a: Any, *, decimals: int) -> Array:
    aval = typeof(a)
    dtype = aval.dtype
    if not dtypes.is_inexact(dtype):
        _check_number("round", dtype)
        if decimals >= 0 or not issubdtype(dtype, np.integer):
            return asarray(a)
        factor = dtype.type(10**-decimals)
        wide = lax.convert_element_type(a, dtypes.default_float())
        scaled = _half_to_even(lax.div(wide, typeof(wide).dtype.type(factor)))
        return lax.mul(lax.convert_element_type(scaled, dtype), factor)
    if decimals == 0:
        return _complex_half_to_even(a)
    factor = scalar_like(a, 10.0 ** abs(decimals))
    if dtypes.is_complex(dtype):
        parts = (_round(v, decimals=decimals) for v in (lax.real(a), lax.imag(a)))
        return lax.complex(*parts)
    if decimals > 0:
        return lax.div(_half_to_even(lax.mul(a, factor)), factor)
    return lax.mul(_half_to_even(lax.div(a, factor)), factor)


@composite(static_argnames=("decimals", "out"))
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimals; halves go to even.

    Args:
      a: any shape.
      decimals: static number of digits behind the point; negative means in front of it.
      out: not supported.
    """
    check_arraylike("round", a)
    if out is not None:
        raise NotImplementedError("round: given out=, expected None: arrays can't be written to.")
    return _round(a, decimals=operator.index(decimals))


around = alias(round, "around")
