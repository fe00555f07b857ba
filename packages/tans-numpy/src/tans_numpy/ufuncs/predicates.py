"""Questions about single elements: finite, nan, infinite, real, close."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    check_arraylike,
    promote,
    promote_inexact,
    scalar_like,
)
from tans_numpy.reductions import all as all_
from tans_numpy.refusals import refuse_complex, refuse_out
from tans_numpy.selection import where
from tans_numpy.ufuncs.arithmetic import abs as absolute
from tans_numpy.ufuncs.arithmetic import add, multiply, subtract
from tans_numpy.ufuncs.comparison import equal, less_equal, logical_and, logical_or
from tans_xla import composite

type Array = Any


def _parts(operation: Any, combine: Any, otherwise: bool, name: str, summary: str) -> Any:
    def predicate(x: ArrayLike, /) -> Array:
        check_arraylike(name, x)
        aval = typeof(x)
        if dtypes.is_complex(aval.dtype):
            return combine(operation(lax.real(x)), operation(lax.imag(x)))
        if issubdtype(aval.dtype, np.floating):
            return operation(x)
        return lax.full(aval.shape, otherwise, np.dtype(bool))

    predicate.__name__ = predicate.__qualname__ = name
    predicate.__doc__ = f"{summary}\n\n    Args:\n      x: array of any shape, or a scalar.\n"
    return composite(predicate)


def _infinite(x: Any) -> Any:
    return lax.eq(lax.abs(x), typeof(x).dtype.type(np.inf))


isfinite = _parts(
    lax.is_finite, lax.bitwise_and, True, "isfinite", "Whether an element is a finite number."
)
isnan = _parts(lambda x: lax.ne(x, x), lax.bitwise_or, False, "isnan", "Whether an element is nan.")
isinf = _parts(_infinite, lax.bitwise_or, False, "isinf", "Whether an element is infinite.")


def _signed_infinity(sign: int, name: str, summary: str) -> Any:
    @composite
    def compute(x: ArrayLike) -> Array:
        check_arraylike(name, x)
        aval = typeof(x)
        if dtypes.is_complex(aval.dtype):
            raise ValueError(f"{name}: given complex numbers, expected real ones.")
        if not issubdtype(aval.dtype, np.floating):
            return lax.full(aval.shape, False, np.dtype(bool))
        return lax.eq(x, aval.dtype.type(sign * np.inf))

    def predicate(x: ArrayLike, /, out: None = None) -> Array:
        refuse_out(out, name)
        return compute(x)

    predicate.__name__ = predicate.__qualname__ = name
    predicate.__doc__ = (
        f"{summary}\n\n    Args:\n      x: array of any shape, or a scalar.\n"
        "      out: not supported.\n"
    )
    return predicate


isposinf = _signed_infinity(1, "isposinf", "Whether an element is positive infinity.")
isneginf = _signed_infinity(-1, "isneginf", "Whether an element is negative infinity.")


@composite
def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit is set; also for -0.0 and nan.

    Args:
      x: any shape, real.
    """
    check_arraylike("signbit", x)
    refuse_complex("signbit", x, error=ValueError)
    dtype = typeof(x).dtype
    if issubdtype(dtype, np.floating):
        signed = np.dtype(f"int{dtype.itemsize * 8}")
        return lax.lt(lax.bitcast_convert_type(x, signed), signed.type(0))
    if issubdtype(dtype, np.signedinteger):
        return lax.lt(x, dtype.type(0))
    return lax.full(typeof(x).shape, False, np.dtype(bool))


@composite
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1` with the sign of `x2`.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    check_arraylike("copysign", x1, x2)
    refuse_complex("copysign", x1, x2)
    broadcast_shapes("copysign", typeof(x1).shape, typeof(x2).shape)
    x, y = promote_inexact("copysign", x1, x2)
    size = lax.abs(x)
    # The sign counts in the result's type: a weak size beside a strong sign is strong.
    size = size if typeof(y).weak_type else lax.convert_element_type(size, typeof(y).dtype)
    return where(signbit(y), lax.neg(size), size)


def _isclose(a: Any, b: Any, rtol: Any, atol: Any, *, equal_nan: bool) -> Array:
    a, b = promote("isclose", a, b)
    if dtypes.is_extended(typeof(a).dtype):
        return equal(a, b)
    if not dtypes.is_inexact(typeof(a).dtype):
        a, b = (lax.convert_element_type(v, dtypes.default_float()) for v in (a, b))
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    both_finite = logical_and(isfinite(a), isfinite(b))
    out = logical_or(logical_and(both_finite, near), equal(a, b))
    out = logical_or(out, logical_and(isnan(a), isnan(b))) if equal_nan else out
    return lax.convert_element_type(out, np.dtype(bool))  # not weak


@composite(static_argnames=("equal_nan",))
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether elements are equal within ``atol + rtol * abs(b)``.

    Args:
      a, b: arrays whose shapes broadcast; keys are close when they are equal.
      rtol: relative tolerance.
      atol: absolute tolerance.
      equal_nan: whether nan equals nan.
    """
    check_arraylike("isclose", a, b, rtol, atol)
    return _isclose(a, b, rtol, atol, equal_nan=bool(equal_nan))


@composite(static_argnames=("equal_nan",))
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether all elements are close; see `isclose`."""
    return all_(isclose(a, b, rtol, atol, equal_nan))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of `x` is complex."""
    return x is not None and dtypes.is_complex(
        x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    )


def isrealobj(x: Any) -> bool:
    """Whether the dtype of `x` is not complex."""
    return not iscomplexobj(x)


@composite
def iscomplex(x: ArrayLike) -> Array:
    """Whether an element has an imaginary part.

    Args:
      x: any shape.
    """
    check_arraylike("iscomplex", x)
    aval = typeof(x)
    if dtypes.is_complex(aval.dtype):
        imag = lax.imag(x)
        return lax.ne(imag, scalar_like(imag, 0))
    # A comparison, so that an answer about weak values is weak.
    return lax.ne(x, x) if aval.dtype.kind in "iu" else lax.full_like(x, False, np.dtype(bool))


@composite
def isreal(x: ArrayLike) -> Array:
    """Whether an element has no imaginary part.

    Args:
      x: any shape.
    """
    return lax.bitwise_not(iscomplex.inline(x))


def isscalar(element: Any) -> bool:
    """Whether `element` is a scalar: a number, or an array without dimensions."""
    if hasattr(element, "ndim"):
        return element.ndim == 0
    return np.isscalar(element)
