"""Parts and properties of numbers: real and imaginary part, exponent, gcd, sinc, i0, ..."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import finfo, issubdtype
from tans_numpy.aliases import alias
from tans_numpy.creation import asarray
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
    promote_inexact,
    scalar_like,
)
from tans_numpy.refusals import refuse_complex
from tans_numpy.selection import where
from tans_numpy.ufuncs.arithmetic import abs as abs_
from tans_numpy.ufuncs.arithmetic import multiply
from tans_xla import composite

type Array = Any


@composite
def real(val: ArrayLike, /) -> Array:
    """Return the real part.

    Args:
      val: any shape.
    """
    check_arraylike("real", val)
    return lax.real(val) if dtypes.is_complex(typeof(val).dtype) else asarray(val)


@composite
def imag(val: ArrayLike, /) -> Array:
    """Return the imaginary part.

    Args:
      val: any shape.
    """
    check_arraylike("imag", val)
    return lax.imag(val) if dtypes.is_complex(typeof(val).dtype) else lax.full_like(val, 0)


@composite
def conjugate(x: ArrayLike, /) -> Array:
    """Return the complex conjugate.

    Args:
      x: any shape.
    """
    check_arraylike("conjugate", x)
    return lax.conj(x) if dtypes.is_complex(typeof(x).dtype) else asarray(x)


conj = alias(conjugate, "conj")


@composite(static_argnames=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers.

    Args:
      z: any shape.
      deg: in degrees instead of radians.
    """
    (z,) = promote_dtypes_inexact("angle", z)
    if dtypes.is_complex(typeof(z).dtype):
        out = lax.atan2(lax.imag(z), lax.real(z))
    else:
        out = lax.atan2(np.zeros(typeof(z).shape, typeof(z).dtype), z)
    return lax.mul(out, scalar_like(out, 180 / np.pi)) if deg else out


@composite
def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the number next to `x` in the direction of `y`.

    Args:
      x, y: arrays whose shapes broadcast, or scalars; real.
    """
    return lax.nextafter(*promote_inexact("nextafter", x, y))


@composite
def spacing(x: ArrayLike, /) -> Array:
    """Return the distance to the next number away from zero.

    Args:
      x: any shape, real.
    """
    check_arraylike("spacing", x)
    refuse_complex("spacing", x, error=ValueError)
    (x,) = promote_dtypes_inexact("spacing", x)
    beyond = lax.nextafter(x, lax.mul(_sign_with_zero(x), typeof(x).dtype.type(np.inf)))
    return lax.sub(beyond, x)


def _sign_with_zero(x: Any) -> Any:
    one = lax.full_like(x, 1)
    return lax.select(lax.lt(x, lax.full_like(x, 0)), lax.neg(one), one)


@composite
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Split into a mantissa from 0.5 to 1 and an exponent of 2: ``x == m * 2 ** e``.

    Args:
      x: any shape, real.

    Raises:
      TypeError: complex numbers.
    """
    (x,) = promote_dtypes_inexact("frexp", x)
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        raise TypeError("frexp: given complex numbers, expected real ones.")
    info = finfo(dtype)
    bits = np.dtype(f"int{dtype.itemsize * 8}")
    ones = bits.type((1 << info.nexp) - 1)
    bias = (1 << (info.nexp - 1)) - 1

    def exponent_of(v: Any) -> Any:
        raw = lax.shift_right_logical(lax.bitcast_convert_type(v, bits), bits.type(info.nmant))
        return lax.bitwise_and(raw, ones)

    # Denormal numbers are scaled up first, so that they have an exponent of their own.
    tiny = lax.lt(lax.abs(x), dtype.type(info.tiny))
    scaled = lax.select(tiny, lax.mul(x, dtype.type(2.0 ** (info.nmant + 1))), x)
    raw = exponent_of(scaled)
    shift = lax.select(tiny, lax.full_like(raw, info.nmant + 1), lax.full_like(raw, 0))
    exponent = lax.sub(lax.sub(raw, shift), bits.type(bias - 1))
    plain = lax.bitwise_or(lax.eq(x, lax.full_like(x, 0)), lax.bitwise_not(lax.is_finite(x)))
    exponent = lax.select(plain, lax.full_like(exponent, 0), exponent)
    exponent = lax.convert_element_type(exponent, np.dtype(np.int32))
    # A product with a power of 2 is exact, and has the derivative that bits don't have.
    return _scaled(x, lax.neg(exponent)), exponent


def _scaled(x: Any, exponent: Any) -> Array:
    """Compute ``x * 2 ** exponent`` in two steps, for exponents beyond the range of one number."""
    half = lax.shift_right_arithmetic(exponent, lax.full_like(exponent, 1))
    dtype = typeof(x).dtype
    info = finfo(dtype)
    for part in (half, lax.sub(exponent, half)):
        x = multiply(x, _power_of_two(part.clip(info.minexp, info.maxexp - 1), dtype))
    return x


@composite
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute ``x1 * 2 ** x2``.

    Args:
      x1: any shape, real.
      x2: integers of a shape that broadcasts with `x1`.

    Raises:
      ValueError: `x2` is not of an integer type.
    """
    check_arraylike("ldexp", x1, x2)
    refuse_complex("ldexp", x1, error=ValueError)
    if typeof(x2).dtype.kind not in "biu":
        raise ValueError(f"ldexp: given an exponent of {typeof(x2).dtype}, expected integers.")
    broadcast_shapes("ldexp", typeof(x1).shape, typeof(x2).shape)
    (x1,) = promote_dtypes_inexact("ldexp", x1)
    return _scaled(x1, lax.convert_element_type(x2, np.dtype(np.int32)))


def _power_of_two(exponent: Any, dtype: Any) -> Any:
    info = finfo(dtype)
    bits = np.dtype(f"int{dtype.itemsize * 8}")
    bias = (1 << (info.nexp - 1)) - 1
    raw = lax.convert_element_type(exponent, bits) + bits.type(bias)
    return lax.bitcast_convert_type(lax.shift_left(raw, lax.full_like(raw, info.nmant)), dtype)


@composite
def _modf(x: Any) -> tuple[Array, Array]:
    (x,) = promote_dtypes_inexact("modf", x)
    whole = lax.select(lax.lt(x, scalar_like(x, 0)), lax.ceil(x), lax.floor(x))
    infinite = lax.eq(lax.abs(x), scalar_like(x, np.inf))
    # inf - inf would be nan; the part behind the point is 0, with the sign of x.
    signed_zero = lax.mul(lax.sign(x), scalar_like(x, 0))
    return lax.select(infinite, signed_zero, lax.sub(x, whole)), whole


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Split into the part behind the point and the whole part, both with the sign of `x`.

    Args:
      x: any shape, real.
      out: not supported.
    """
    if out is not None:
        raise NotImplementedError("modf: given out=, expected None: arrays can't be written to.")
    check_arraylike("modf", x)
    return tuple(_modf(x))


def _integers(name: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = promote_dtypes(name, x1, x2)
    if not issubdtype(typeof(x1).dtype, np.integer):
        raise ValueError(
            f"{name}: given operands that promote to {typeof(x1).dtype}, expected integers."
        )
    dims = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return [lax.broadcast_in_dim(v, dims, tuple(range(len(dims) - typeof(v).ndim, len(dims))))
            if typeof(v).shape != dims else asarray(v) for v in (x1, x2)]  # fmt: skip


@composite
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the greatest common divisor; 0 of two zeros.

    Args:
      x1, x2: integers whose shapes broadcast.

    Raises:
      ValueError: operands that are not of an integer type.
    """
    check_arraylike("gcd", x1, x2)
    x1, x2 = _integers("gcd", x1, x2)

    def step(pair: Any) -> Any:
        a, b = pair
        zero = lax.full_like(b, 0)
        done = lax.eq(b, zero)
        rest = lax.rem(a, lax.select(done, lax.full_like(b, 1), b))
        return lax.select(done, a, b), lax.select(done, zero, rest)

    def unfinished(pair: Any) -> Any:
        b = pair[1]
        return lax.reduce_or(lax.ne(b, lax.full_like(b, 0)), tuple(range(typeof(b).ndim)))

    return lax.while_loop(unfinished, step, (abs_(x1), abs_(x2)))[0]


@composite
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the least common multiple; 0 if an operand is 0.

    Args:
      x1, x2: integers whose shapes broadcast.

    Raises:
      ValueError: operands that are not of an integer type.
    """
    check_arraylike("lcm", x1, x2)
    x1, x2 = (abs_(v) for v in _integers("lcm", x1, x2))
    divisor = gcd(x1, x2)
    return where(divisor == 0, 0, x1 * (x2 // where(divisor == 0, 1, divisor)))


@composite
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return 0 below 0, 1 above 0, and `x2` at 0.

    Args:
      x1, x2: arrays whose shapes broadcast, or scalars; real.
    """
    check_arraylike("heaviside", x1, x2)
    refuse_complex("heaviside", x1, x2)
    broadcast_shapes("heaviside", typeof(x1).shape, typeof(x2).shape)
    x, y = promote_inexact("heaviside", x1, x2)
    zero, one = scalar_like(x, 0), scalar_like(x, 1)
    return where(x < zero, zero, where(x > zero, one, where(x == zero, y, x)))


@composite
def sinc(x: ArrayLike, /) -> Array:
    """Compute ``sin(pi * x) / (pi * x)``, 1 at 0; with all derivatives at 0.

    Args:
      x: any shape.
    """
    (x,) = promote_dtypes_inexact("sinc", x)
    dtype = typeof(x).dtype
    scaled = lax.mul(x, scalar_like(x, np.pi))
    # Near 0 the series is exact to rounding, and its derivatives are those of sinc.
    square = lax.square(scaled)
    size = lax.abs(scaled)
    small = lax.lt(size, finfo(dtype).dtype.type(finfo(dtype).eps ** (1 / 8)))
    one, series = scalar_like(x, 1), square * scalar_like(x, -1 / 72)
    for k in (3, 2, 1):
        series = (series + one) * square * scalar_like(x, -1 / ((2 * k) * (2 * k + 1)))
    safe = lax.select(small, lax.full_like(x, 1), scaled)
    if dtypes.is_complex(dtype):
        return lax.select(small, series + one, lax.div(lax.sin(safe), safe))
    # The sine of the angle to the nearest multiple of pi, which is exact: 0 at whole numbers.
    nearest = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    odd = lax.ne(lax.rem(nearest, scalar_like(x, 2)), scalar_like(x, 0))
    turn = lax.select(odd, lax.sub(nearest, x), lax.sub(x, nearest))
    wave = lax.div(lax.sin(lax.mul(turn, scalar_like(x, np.pi))), safe)
    wave = lax.select(lax.eq(size, scalar_like(x, np.inf)), lax.full_like(x, 0), wave)
    return lax.select(small, series + one, wave)


def _nested(x: Any, ratios: np.ndarray) -> Any:
    """Compute ``1 + r_n x (1 + r_(n-1) x (...))`` for the ratios of a series' terms, last first."""

    def step(total: Any, ratio: Any) -> Any:
        return total * x * ratio + typeof(x).dtype.type(1), None

    return lax.scan(step, lax.full_like(x, 1), ratios)[0]


@composite
def i0(x: ArrayLike) -> Array:
    """Compute the modified Bessel function of the first kind, of order 0.

    Args:
      x: any shape, real.

    References:
      Abramowitz and Stegun, "Handbook of Mathematical Functions", 9.6.12 (the power series) and
      9.7.1 (the asymptotic series).
    """
    (x,) = promote_dtypes_inexact("i0", x)
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        raise ValueError("i0: given complex numbers, expected real ones.")
    weak = typeof(x).weak_type
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    x = lax.abs(lax.convert_element_type(x, wide))
    edge = 12.0 if wide.itemsize == 4 else 25.0
    small, large = lax.min(x, wide.type(edge)), lax.max(x, wide.type(edge))
    quarter = lax.square(small) * wide.type(0.25)
    k = np.arange(60 if wide.itemsize > 4 else 34, 0, -1.0)
    total = _nested(quarter, (1 / (k * k)).astype(wide))
    k = np.arange(20 if wide.itemsize > 4 else 10, 0, -1.0)
    tail = _nested(wide.type(1) / large, ((2 * k - 1) ** 2 / (8 * k)).astype(wide))
    asymptotic = lax.exp(large) * tail / lax.sqrt(large * wide.type(2 * np.pi))
    found = lax.select(x <= wide.type(edge), total, asymptotic)
    return lax.convert_element_type_p.bind(found, new_dtype=dtype, weak_type=weak, sharding=None)


@composite(static_argnames=("copy",))
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Replace nan and infinities.

    Args:
      x: any shape.
      copy: has no effect.
      nan: what replaces nan.
      posinf, neginf: what replaces the infinities; the extreme finite numbers if None.

    Example:
      >>> nan_to_num(jnp.array([jnp.nan, 1.0]))
      Array([0., 1.], dtype=float32)
    """
    del copy
    check_arraylike("nan_to_num", x)
    return _nan_to_num(x, nan, posinf, neginf)


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Array:
    dtype = typeof(x).dtype
    if not dtypes.is_inexact(dtype):
        return asarray(x)
    if dtypes.is_complex(dtype):
        parts = (_nan_to_num(p, nan, posinf, neginf) for p in (lax.real(x), lax.imag(x)))
        return lax.complex(*parts)
    info = finfo(dtype)
    high = dtype.type(info.max) if posinf is None else posinf
    low = dtype.type(info.min) if neginf is None else neginf
    infinity = dtype.type(np.inf)
    out = where(lax.ne(x, x), _typed(nan, dtype), x)
    out = where(lax.eq(x, infinity), _typed(high, dtype), out)
    return where(lax.eq(x, -infinity), _typed(low, dtype), out)


def _typed(value: Any, dtype: Any) -> Any:
    if type(value) in (bool, int, float):
        return dtype.type(value)
    return value if typeof(value).dtype == dtype else lax.convert_element_type(value, dtype)
