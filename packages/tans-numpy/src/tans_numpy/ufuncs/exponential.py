"""Exponentials, logarithms, trigonometric and hyperbolic functions, roots."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.aliases import alias
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    check_arraylike,
    promote_inexact,
    scalar_like,
)
from tans_numpy.refusals import refuse_complex
from tans_numpy.ufuncs.makers import binary_inexact, unary_inexact
from tans_numpy.ufuncs.universal import as_ufunc
from tans_xla import composite

type Array = Any

exp = unary_inexact(lax.exp, "exp", "Compute ``e ** x``.")
exp2 = unary_inexact(lax.exp2, "exp2", "Compute ``2 ** x``.")
expm1 = unary_inexact(lax.expm1, "expm1", "Compute ``exp(x) - 1``, accurate near 0.")
log = unary_inexact(lax.log, "log", "Compute the natural logarithm.")
log1p = unary_inexact(lax.log1p, "log1p", "Compute ``log(1 + x)``, accurate near 0.")
sqrt = unary_inexact(lax.sqrt, "sqrt", "Compute the square root.")
cbrt = unary_inexact(lax.cbrt, "cbrt", "Compute the cube root.")
sin = unary_inexact(lax.sin, "sin", "Compute the sine of an angle in radians.")
cos = unary_inexact(lax.cos, "cos", "Compute the cosine of an angle in radians.")
tan = unary_inexact(lax.tan, "tan", "Compute the tangent of an angle in radians.")
arcsin = unary_inexact(lax.asin, "arcsin", "Compute the inverse sine, in radians.")
asin = alias(arcsin, "asin")
arccos = unary_inexact(lax.acos, "arccos", "Compute the inverse cosine, in radians.")
acos = alias(arccos, "acos")
arctan = unary_inexact(lax.atan, "arctan", "Compute the inverse tangent, in radians.")
atan = alias(arctan, "atan")
sinh = unary_inexact(lax.sinh, "sinh", "Compute the hyperbolic sine.")
cosh = unary_inexact(lax.cosh, "cosh", "Compute the hyperbolic cosine.")
tanh = unary_inexact(lax.tanh, "tanh", "Compute the hyperbolic tangent.")
arcsinh = unary_inexact(lax.asinh, "arcsinh", "Compute the inverse hyperbolic sine.")
asinh = alias(arcsinh, "asinh")
arccosh = unary_inexact(lax.acosh, "arccosh", "Compute the inverse hyperbolic cosine.")
acosh = alias(arccosh, "acosh")
arctanh = unary_inexact(lax.atanh, "arctanh", "Compute the inverse hyperbolic tangent.")
atanh = alias(arctanh, "atanh")
arctan2 = binary_inexact(
    lax.atan2, "arctan2", "Compute the angle of the point (y, x), in radians.", "real", ("x1", "x2")
)
atan2 = alias(arctan2, "atan2")


def _log10(x: Any) -> Any:
    found, scale = lax.log(x), 1 / np.log(10)
    if not dtypes.is_complex(typeof(x).dtype):
        return lax.mul(found, typeof(x).dtype.type(scale))
    # Part by part: a complex product would turn -0 into 0, and inf into nan.
    parts = [lax.real(found), lax.imag(found)]
    return lax.complex(*(lax.mul(part, typeof(part).dtype.type(scale)) for part in parts))


log2 = unary_inexact(lax.log2, "log2", "Compute the logarithm to base 2.")
log10 = unary_inexact(_log10, "log10", "Compute the logarithm to base 10.")


def _scaled(factor: float) -> Any:
    return lambda x: lax.mul(x, scalar_like(x, factor))


deg2rad = unary_inexact(_scaled(np.pi / 180), "deg2rad", "Convert degrees to radians.")
radians = alias(deg2rad, "radians")
rad2deg = unary_inexact(_scaled(180 / np.pi), "rad2deg", "Convert radians to degrees.")
degrees = alias(rad2deg, "degrees")


@composite
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute ``sqrt(x1**2 + x2**2)`` without overflow.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    check_arraylike("hypot", x1, x2)
    refuse_complex("hypot", x1, x2, error=ValueError)
    broadcast_shapes("hypot", typeof(x1).shape, typeof(x2).shape)
    x, y = promote_inexact("hypot", x1, x2)
    one, infinity = scalar_like(x, 1), scalar_like(x, np.inf)
    x, y = lax.abs(x), lax.abs(y)
    larger, smaller = lax.max(x, y), lax.min(x, y)
    is_zero = lax.eq(larger, scalar_like(x, 0))
    # 0 / 0 is left as it is: the function has no slope at the origin, and nan says so.
    ratio = lax.div(smaller, larger)
    length = lax.mul(larger, lax.sqrt(lax.add(one, lax.square(ratio))))
    length = lax.select(is_zero, larger, length)
    # Maximum and minimum have slope 0 at nan, a square has slope nan.
    length = lax.select(lax.ne(length, length), lax.square(lax.add(x, y)), length)
    infinite = lax.bitwise_or(lax.eq(x, infinity), lax.eq(y, infinity))
    return lax.select(infinite, lax.full_like(length, np.inf), length)


def _principal(z: Any, period: float) -> Any:
    """Move the imaginary part into the period around 0 that a logarithm has."""
    turns = lax.round(lax.div(lax.imag(z), typeof(lax.imag(z)).dtype.type(period)))
    moved = lax.sub(lax.imag(z), lax.mul(turns, typeof(turns).dtype.type(period)))
    return lax.complex(lax.real(z), moved)


def _logaddexp(base_exp: Any, scale: float, name: str, summary: str) -> Any:
    def operation(x: Any, y: Any) -> Any:
        larger, smaller = lax.max(x, y), lax.min(x, y)
        delta = lax.sub(x, y)
        # The difference of max and min has slope 0 on a tie, where that of abs would be 1. It is
        # 0 where both are inf, so that the unused total has a finite slope there.
        gap = lax.select(
            lax.eq(smaller, scalar_like(x, np.inf)),
            lax.full_like(larger, 0),
            lax.sub(smaller, larger),
        )
        excess = lax.log1p(base_exp(gap))
        excess = excess if scale == 1 else lax.mul(excess, scalar_like(x, scale))
        total = lax.add(larger, excess)
        both = lax.add(x, y)
        if dtypes.is_complex(typeof(x).dtype):
            total = _principal(total, 2 * np.pi * scale)
        else:
            both = lax.mul(both, lax.abs(lax.sign(both)))  # of slope nan at nan, and 1 at inf
        # inf - inf is nan, but the sum is then x + y.
        return lax.select(lax.ne(delta, delta), both, total)

    return as_ufunc(binary_inexact(operation, name, summary), 2, -np.inf)


logaddexp = _logaddexp(
    lax.exp, 1.0, "logaddexp", "Compute ``log(exp(x) + exp(y))`` without overflow."
)
logaddexp2 = _logaddexp(
    lax.exp2, 1 / np.log(2), "logaddexp2", "Compute ``log2(2**x + 2**y)`` without overflow."
)
