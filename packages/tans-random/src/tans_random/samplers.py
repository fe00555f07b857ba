"""Samplers of the basic distributions; bit-compatible with JAX.

Each sampler takes a single key (typed or raw) and a static shape. The rules are those of the
reference: how many bits a number uses and how they become a float are part of the contract.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import config, dtypes, typeof
from tans_core.dtype_queries import finfo, iinfo, issubdtype
from tans_core.errors import ConcretizationTypeError
from tans_numpy.creation import requested_dtype
from tans_random.implementations import Implementation
from tans_random.keys import take_apart
from tans_xla import composite

type Key = Any
type Array = Any
type Shape = tuple[int, ...]
_STATIC = ("shape", "dtype", "impl")


def static_shape(shape: Any, name: str) -> Shape:
    """Return a shape as a tuple of ints.

    Raises:
      TypeError: a size is not a static integer.
      ValueError: a size is negative.
    """
    items = shape if isinstance(shape, Sequence) else (shape,)
    try:
        out = tuple(operator.index(n) for n in items)
    except (TypeError, ConcretizationTypeError):
        raise TypeError(
            f"{name}: given the shape {shape!r}, expected static integers. Shapes must be known "
            "while the function is traced: use x.shape, or static arguments."
        ) from None
    if any(n < 0 for n in out):
        raise ValueError(f"{name}: given the shape {out}, expected sizes of at least 0.")
    return out


def float_dtype(dtype: Any, name: str, allow_complex: bool = False) -> Any:
    """Return the dtype of a sampler of floats.

    Raises:
      ValueError: not a floating-point dtype.
    """
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, name)
    kinds = np.inexact if allow_complex else np.floating
    if not issubdtype(target, kinds):
        raise ValueError(
            f"{name}: given dtype {target}, expected a floating-point dtype. "
            "Use randint for integers."
        )
    return target


def common_shape(shape: Any, name: str, *arrays: Any) -> Shape:
    """Return the shape of the result: that given, which parameters must broadcast to, or theirs."""
    own = jnp.broadcast_shapes(*(typeof(a).shape for a in arrays))
    if shape is None:
        return own
    out = static_shape(shape, name)
    if jnp.broadcast_shapes(out, own) != out:
        raise ValueError(
            f"{name}: given the shape {out} and parameters with shape {own}; expected parameters "
            "that broadcast to the shape."
        )
    return out


# ---- bits -------------------------------------------------------------------------------------


def draw_bits(words: Any, impl: Implementation, width: int, shape: Shape) -> Array:
    """Return unsigned integers of `width` bits."""
    return impl.bits(words, width, shape)


@composite(static_argnames=_STATIC)
def _bits(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    return draw_bits(words, impl, dtype.itemsize * 8, shape)


def bits(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Return uniform random bits as unsigned integers.

    Args:
      key: single key.
      shape: static shape.
      dtype: unsigned integer dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not unsigned, or an array of keys.
    """
    parts = take_apart(key, "bits")
    target = dtypes.default_uint() if dtype is None else requested_dtype(dtype, "bits")
    if not issubdtype(target, np.unsignedinteger):
        raise ValueError(f"bits: given dtype {target}, expected an unsigned integer dtype.")
    return _bits(parts.words, shape=static_shape(shape, "bits"), dtype=target, impl=parts.impl)


# ---- uniform ----------------------------------------------------------------------------------


def unit_uniform(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return numbers in [0, 1): random mantissa bits of a number in [1, 2), minus 1."""
    mantissa = finfo(dtype).nmant
    width = 8 if mantissa < 8 else dtype.itemsize * 8
    drawn = draw_bits(words, impl, width, shape)
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    drawn = lax.shift_right_logical(drawn, np.dtype(f"uint{width}").type(width - mantissa))
    drawn = lax.convert_element_type(drawn, unsigned) if width != unsigned.itemsize * 8 else drawn
    one = np.asarray(1, dtype).view(unsigned)[()]
    floats = lax.bitcast_convert_type(lax.bitwise_or(drawn, one), dtype)
    return lax.sub(floats, dtype.type(1))


def uniform_between(
    words: Any, impl: Implementation, shape: Shape, dtype: Any, low: Any, high: Any
) -> Array:
    """Return numbers in [low, high)."""
    low, high = (_as(v, dtype, shape) for v in (low, high))
    unit = unit_uniform(words, impl, shape, dtype)
    return lax.max(low, lax.add(lax.mul(unit, lax.sub(high, low)), low))


def _as(x: Any, dtype: Any, shape: Shape) -> Any:
    if isinstance(x, np.generic) and x.dtype == dtype:
        return x
    if type(x) in (int, float):
        return dtype.type(x)
    x = lax.convert_element_type(x, dtype)
    return x if typeof(x).ndim in (0, len(shape)) else jnp.broadcast_to(x, shape)


@composite(static_argnames=_STATIC)
def _uniform(
    words: Any, low: Any, high: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    return uniform_between(words, impl, shape, dtype, low, high)


def uniform(
    key: Key, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Sample from the uniform distribution over [minval, maxval).

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      minval, maxval: bounds that broadcast to `shape`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, or an array of keys.
    """
    parts = take_apart(key, "uniform")
    target = float_dtype(dtype, "uniform")
    dims = static_shape(shape, "uniform")
    return _uniform(parts.words, minval, maxval, shape=dims, dtype=target, impl=parts.impl)


# ---- normal -----------------------------------------------------------------------------------


def real_normal(words: Any, impl: Implementation, shape: Shape, dtype: Any) -> Array:
    """Return standard normal numbers: sqrt(2) erf_inv(u), u uniform in (-1, 1)."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))[()]
    u = uniform_between(words, impl, shape, dtype, low, dtype.type(1))
    return lax.mul(dtype.type(math.sqrt(2)), lax.erf_inv(u))


@composite(static_argnames=_STATIC)
def _normal(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    if not dtypes.is_complex(dtype):
        return real_normal(words, impl, shape, dtype)
    part = np.dtype(dtype.type(0).real.dtype)
    pair = impl.split(words, (2,))
    real, imag = (
        real_normal(lax.index_in_dim(pair, i, 0, keepdims=False), impl, shape, part) for i in (0, 1)
    )
    return lax.div(lax.complex(real, imag), dtype.type(math.sqrt(2)))


def normal(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Sample from the standard normal distribution.

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point or complex dtype; complex numbers have variance 1.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is an integer dtype, or an array of keys.
    """
    parts = take_apart(key, "normal")
    target = float_dtype(dtype, "normal", allow_complex=True)
    return _normal(parts.words, shape=static_shape(shape, "normal"), dtype=target, impl=parts.impl)


# ---- integers ---------------------------------------------------------------------------------


@composite(static_argnames=_STATIC)
def _randint(
    words: Any, low: Any, high: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    info = iinfo(dtype)
    unsigned = np.dtype(f"uint{dtype.itemsize * 8}")
    width = dtype.itemsize * 8
    too_high = lax.gt(high, typeof(high).dtype.type(info.max)) if _is_wider(high, dtype) else None
    low, high = (jnp.broadcast_to(_clamped(v, dtype), shape) for v in (low, high))
    pair = impl.split(words, (2,))
    upper, lower = (
        draw_bits(lax.index_in_dim(pair, i, 0, keepdims=False), impl, width, shape) for i in (0, 1)
    )
    one = unsigned.type(1)
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    span = lax.select(lax.le(high, low), lax.full_like(span, 1), span)
    if too_high is not None:
        grown = lax.select(lax.gt(high, low), lax.add(span, one), span)
        span = lax.select(jnp.broadcast_to(too_high, shape), grown, span)
    # Two draws make the bias of the remainder negligible: (upper * 2**width + lower) mod span.
    multiplier = lax.rem(lax.full_like(span, 1 << (width // 2)), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), multiplier), lax.rem(lower, span))
    offset = lax.rem(offset, span)
    return lax.add(low, lax.convert_element_type(offset, dtype))


def _is_wider(x: Any, dtype: Any) -> bool:
    other = typeof(x).dtype
    return iinfo(other).max > iinfo(dtype).max


def _clamped(x: Any, dtype: Any) -> Any:
    info, own = iinfo(dtype), iinfo(typeof(x).dtype)
    kind = typeof(x).dtype.type
    low = kind(max(info.min, own.min))
    high = kind(min(info.max, own.max))
    return lax.convert_element_type(lax.clamp(low, x, high), dtype)


def randint(
    key: Key, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Sample integers uniformly from [minval, maxval).

    Args:
      key: single key.
      shape: static shape.
      minval, maxval: integer bounds that broadcast to `shape`.
      dtype: integer dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: a dtype is not integer.
      ValueError: an array of keys, or bounds that do not broadcast.
    """
    parts = take_apart(key, "randint")
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, "randint")
    if not issubdtype(target, np.integer):
        raise TypeError(f"randint: given dtype {target}, expected an integer dtype.")
    low, high = (_integer_bound(v, target) for v in (minval, maxval))
    dims = common_shape(shape, "randint", low, high)
    return _randint(parts.words, low, high, shape=dims, dtype=target, impl=parts.impl)


def _integer_bound(x: Any, dtype: Any) -> Any:
    if type(x) is int:
        info = iinfo(dtype)
        # One above the largest value is a valid end: it becomes a bound of a wider dtype.
        wide = np.int64 if info.min < 0 else np.uint64
        if info.min <= x <= info.max:
            return dtype.type(x)
        if dtype.itemsize < dtypes.default_int().itemsize:
            return dtypes.default_int().type(min(max(x, info.min), info.max + 1))
        return wide(min(max(x, info.min), info.max)).astype(dtype)
    if not issubdtype(typeof(x).dtype, np.integer):
        raise TypeError(
            f"randint: given a bound of type {typeof(x).str_short()}, expected integers. "
            "Convert it with .astype(int)."
        )
    return x


# ---- permutations -----------------------------------------------------------------------------


def shuffle(words: Any, impl: Implementation, x: Array, axis: int) -> Array:
    """Sort by random numbers, often enough that ties do not matter."""
    exponent = 3
    size = max(1, typeof(x).size)
    rounds = int(np.ceil(exponent * np.log(size) / np.log(np.iinfo(np.uint32).max)))
    shape = typeof(x).shape
    for _ in range(rounds):
        pair = impl.split(words, (2,))
        words, sub = (lax.index_in_dim(pair, i, 0, keepdims=False) for i in (0, 1))
        _, x = lax.sort_key_val(draw_bits(sub, impl, 32, shape), x, axis)
    return x


@composite(static_argnames=("axis", "independent", "impl"))
def _permutation(
    words: Any, x: Any, *, axis: int, independent: bool, impl: Implementation
) -> Array:
    if independent or typeof(x).ndim == 1:
        return shuffle(words, impl, x, axis)
    order = shuffle(words, impl, lax.iota(dtypes.default_int(), typeof(x).shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


def permutation(
    key: Key, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Array:
    """Return an array in random order, or random order of 0 to x - 1.

    Args:
      key: single key.
      x: integer, or array with at least one dimension.
      axis: the dimension to permute.
      independent: permute each vector along `axis` on its own.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `x` is a scalar that is not an integer.
    """
    parts = take_apart(key, "permutation")
    if not hasattr(x, "shape") and not isinstance(x, int):
        raise TypeError(f"permutation: given {x!r}, expected an integer or an array.")
    if isinstance(x, int) or typeof(x).ndim == 0:
        if not isinstance(x, int) and not issubdtype(typeof(x).dtype, np.integer):
            raise TypeError(
                f"permutation: given a scalar of type {typeof(x).str_short()}, expected an integer "
                "or an array."
            )
        x = jnp.arange(int(x))
    at = axis + typeof(x).ndim if axis < 0 else axis
    return _permutation(parts.words, x, axis=at, independent=bool(independent), impl=parts.impl)


# ---- discrete ---------------------------------------------------------------------------------


@composite(static_argnames=("shape", "impl", "mode"))
def _bernoulli(words: Any, p: Any, *, shape: Shape, impl: Implementation, mode: str) -> Array:
    dtype = typeof(p).dtype
    p = jnp.broadcast_to(p, shape)
    if mode == "low":
        return lax.lt(unit_uniform(words, impl, shape, dtype), p)
    drawn = unit_uniform(words, impl, (2, *shape), dtype)
    first, second = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in (0, 1))
    scaled = lax.mul(second, dtype.type(2.0 ** -finfo(dtype).nmant))
    return lax.lt(scaled, lax.sub(p, first))


def bernoulli(
    key: Key, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Array:
    """Sample booleans that are True with probability `p`.

    Args:
      key: single key.
      p: floating-point probability, any shape.
      shape: static shape that `p` broadcasts to; that of `p` if None.
      mode: "low" compares one number with `p`; "high" two, which is exact for small `p`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `p` is not floating-point.
      ValueError: unknown mode.
    """
    parts = take_apart(key, "bernoulli")
    if mode not in ("low", "high"):
        raise ValueError(f"bernoulli: given mode={mode!r}, expected 'low' or 'high'.")
    if not issubdtype(typeof(p).dtype, np.floating):
        raise TypeError(
            f"bernoulli: given p of type {typeof(p).str_short()}, expected a floating-point "
            "probability. Write 1.0 instead of 1."
        )
    dims = common_shape(shape, "bernoulli", p)
    return _bernoulli(parts.words, p, shape=dims, impl=parts.impl, mode=mode)


def gumbel_numbers(words: Any, impl: Implementation, shape: Shape, dtype: Any, mode: str) -> Array:
    """Return numbers of the standard Gumbel distribution."""
    if mode == "high":
        drawn = unit_uniform(words, impl, (2, *shape), dtype)
        first, second = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in (0, 1))
        tiny = lax.mul(second, dtype.type(finfo(dtype).eps))
        x = lax.add(first, lax.max(tiny, dtype.type(finfo(dtype).tiny)))
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    u = uniform_between(words, impl, shape, dtype, dtype.type(finfo(dtype).tiny), dtype.type(1))
    return lax.neg(lax.log(lax.neg(lax.log(u))))


@composite(static_argnames=(*_STATIC, "mode"))
def _gumbel(words: Any, *, shape: Shape, dtype: Any, impl: Implementation, mode: str) -> Array:
    return gumbel_numbers(words, impl, shape, dtype, mode)


def _gumbel_mode(mode: str | None, name: str) -> str:
    if mode is None:
        mode = "high" if config.high_dynamic_range_gumbel.value else "low"
    if mode not in ("low", "high"):
        raise ValueError(f"{name}: given mode={mode!r}, expected 'low' or 'high'.")
    return mode


def gumbel(
    key: Key, shape: Any = (), dtype: Any = None, mode: str | None = None, *,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Sample from the standard Gumbel distribution: -log(-log(u)).

    Args:
      key: single key.
      shape: static shape.
      dtype: floating-point dtype; the default one if None.
      mode: "low", or "high" for a larger range at twice the bits.
      out_sharding: sharding of the result in explicit mode.
    """
    parts = take_apart(key, "gumbel")
    target = float_dtype(dtype, "gumbel")
    dims = static_shape(shape, "gumbel")
    return _gumbel(
        parts.words, shape=dims, dtype=target, impl=parts.impl, mode=_gumbel_mode(mode, "gumbel")
    )


@composite(static_argnames=("shape", "axis", "impl", "mode"))
def _categorical(
    words: Any, logits: Any, *, shape: Shape, axis: int, impl: Implementation, mode: str
) -> Array:
    own = typeof(logits).shape
    batch = own[:axis] + own[axis + 1 :]
    extra = shape[: len(shape) - len(batch)]
    drawn = gumbel_numbers(words, impl, (*extra, *own), typeof(logits).dtype, mode)
    scores = lax.add(drawn, jnp.broadcast_to(logits, (*extra, *own)))
    return lax.argmax(scores, len(extra) + axis, dtypes.default_int())


@composite(static_argnames=("count", "axis", "impl", "mode"))
def _categorical_distinct(
    words: Any, logits: Any, *, count: int, axis: int, impl: Implementation, mode: str
) -> Array:
    own = typeof(logits).shape
    scores = lax.add(gumbel_numbers(words, impl, own, typeof(logits).dtype, mode), logits)
    return lax.top_k(jnp.moveaxis(scores, axis, -1), count)[1]


def categorical(
    key: Key, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True,
    mode: str | None = None, *, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Sample indices with probabilities proportional to ``exp(logits)``.

    Args:
      key: single key.
      logits: unnormalised log probabilities, any shape with at least one dimension.
      axis: dimension of `logits` that indices range over.
      shape: static shape that the other dimensions broadcast to; theirs if None.
      replace: whether an index may be drawn again.
      mode: as for `gumbel`.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: the shape does not fit, or more distinct indices than there are.
    """
    parts = take_apart(key, "categorical")
    logits = jnp.asarray(logits)
    own, ndim = logits.shape, logits.ndim
    at = operator.index(axis)
    if not -ndim <= at < ndim:
        raise ValueError(
            f"categorical: given axis={axis} for logits with shape {own}, expected {-ndim} to "
            f"{ndim - 1}."
        )
    at = at + ndim if at < 0 else at
    batch = own[:at] + own[at + 1 :]
    dims = batch if shape is None else static_shape(shape, "categorical")
    if jnp.broadcast_shapes(dims, batch) != dims:
        raise ValueError(
            f"categorical: given the shape {dims} for logits with shape {own}; expected one that "
            f"the other dimensions {batch} broadcast to."
        )
    mode = _gumbel_mode(mode, "categorical")
    if replace:
        return _categorical(parts.words, logits, shape=dims, axis=at, impl=parts.impl, mode=mode)
    count = math.prod(dims[: len(dims) - len(batch)])
    if count > own[at]:
        raise ValueError(
            f"categorical: given replace=False and {count} draws of {own[at]} indices, expected at "
            "most as many draws as indices."
        )
    out = _categorical_distinct(
        parts.words, logits, count=count, axis=at, impl=parts.impl, mode=mode
    )
    return jnp.reshape(jnp.moveaxis(out, -1, 0), dims)
