"""Distributions made of gamma samples: beta, Dirichlet, chi-square, F, t."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.random_gamma import random_gamma
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    check_choice,
    draw,
    float_dtype,
    place,
    split_words,
    spread,
    static_shape,
)
from tans_random.samplers.gamma_distribution import GAMMA_METHODS, log_gamma_numbers
from tans_random.samplers.normal import real_normal
from tans_xla import composite


@composite(static_argnames=(*STATIC, "method"))
def _beta(
    words: Any, a: Any, b: Any, *, shape: Shape, dtype: Any, impl: Implementation, method: str
) -> Array:
    a, b = (spread(v, dtype, shape) for v in (a, b))
    first, second = split_words(words, impl, 2)
    x, y = log_gamma_numbers(first, a, impl, method), log_gamma_numbers(second, b, impl, method)
    # A ratio of exponentials of numbers at most 0 does not overflow, and one of them is 1.
    largest = lax.max(x, y)
    x, y = (lax.exp(lax.sub(v, largest)) for v in (x, y))
    return lax.div(x, lax.add(x, y))


def beta(
    key: Key, a: ArrayLike, b: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    method: str = "exact", out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the beta distribution: density proportional to ``x**(a-1) (1-x)**(b-1)``.

    Args:
      key: single key.
      a, b: shape parameters, which broadcast to `shape`.
      shape: static shape; that of the parameters if None.
      dtype: floating-point dtype; the default one if None.
      method: "exact", or "approximate" for one pass without rejection.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, parameters do not broadcast, an unknown method, or an
        array of keys.

    Example:
      >>> random.beta(random.key(0), 2.0, 3.0, (3,)).shape
      (3,)
    """
    check_choice("beta", "method", method, GAMMA_METHODS)
    return draw(
        _beta, "beta", key, a, b, shape=shape, dtype=dtype, out_sharding=out_sharding,
        method=method,
    )  # fmt: skip


@composite(static_argnames=STATIC)
def _dirichlet(words: Any, alpha: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    alpha = spread(alpha, dtype, (*shape, typeof(alpha).shape[-1]))
    logs = log_gamma_numbers(words, alpha, impl)
    largest = lax.stop_gradient(jnp.max(logs, -1, keepdims=True, initial=-float("inf")))
    parts = lax.exp(lax.sub(logs, largest))
    return lax.div(parts, jnp.sum(parts, -1, keepdims=True))


def dirichlet(
    key: Key, alpha: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the Dirichlet distribution: positive numbers that sum to 1.

    Args:
      key: single key.
      alpha: concentrations, [..., n].
      shape: static batch shape, which the leading dimensions of `alpha` broadcast to; those if
        None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [*shape, n].

    Raises:
      ValueError: `dtype` is not floating, `alpha` is a scalar or does not broadcast, or an array of
        keys.

    Example:
      >>> random.dirichlet(random.key(0), jnp.ones(4), (2,)).shape
      (2, 4)
    """
    parts = take_apart(key, "dirichlet")
    target = float_dtype(dtype, "dirichlet")
    own = typeof(alpha).shape
    if not own:
        raise ValueError(
            f"dirichlet: given alpha of type {typeof(alpha).str_short()}, expected at least one "
            "dimension. Write a vector of concentrations."
        )
    dims = own[:-1] if shape is None else static_shape(shape, "dirichlet")
    if shape is not None and jnp.broadcast_shapes(dims, own[:-1]) != dims:
        raise ValueError(
            f"dirichlet: given the shape {dims} and alpha with shape {own}, expected leading "
            "dimensions of alpha that broadcast to the shape. The last dimension is not part of it."
        )
    return place(
        _dirichlet(parts.words, alpha, shape=dims, dtype=target, impl=parts.impl), out_sharding
    )


def _chisquare_numbers(words: Any, df: Any, impl: Implementation, method: str = "exact") -> Array:
    kind = typeof(df).dtype.type
    logs = log_gamma_numbers(words, lax.div(df, kind(2)), impl, method)
    return lax.mul(lax.exp(logs), kind(2))


@composite(static_argnames=(*STATIC, "method"))
def _chisquare(
    words: Any, df: Any, *, shape: Shape, dtype: Any, impl: Implementation, method: str
) -> Array:
    return _chisquare_numbers(words, spread(df, dtype, shape), impl, method)


def chisquare(
    key: Key, df: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    method: str = "exact", out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the chi-square distribution: the sum of `df` squared normal numbers.

    Args:
      key: single key.
      df: degrees of freedom, which broadcast to `shape`.
      shape: static shape; that of `df` if None.
      dtype: floating-point dtype; the default one if None.
      method: "exact", or "approximate" for one pass without rejection.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `df` does not broadcast, an unknown method, or an array
        of keys.

    Example:
      >>> random.chisquare(random.key(0), 3.0, (3,)).shape
      (3,)
    """
    check_choice("chisquare", "method", method, GAMMA_METHODS)
    return draw(
        _chisquare, "chisquare", key, df, shape=shape, dtype=dtype, out_sharding=out_sharding,
        method=method,
    )  # fmt: skip


@composite(static_argnames=STATIC)
def _f(
    words: Any, dfnum: Any, dfden: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    dfnum, dfden = (spread(v, dtype, shape) for v in (dfnum, dfden))
    bottom, top = split_words(words, impl, 2)
    top = lax.div(_chisquare_numbers(top, dfnum, impl), dfnum)
    return lax.div(top, lax.div(_chisquare_numbers(bottom, dfden, impl), dfden))


def f(
    key: Key, dfnum: ArrayLike, dfden: ArrayLike, shape: ShapeLike = None,
    dtype: DTypeLike = None, *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the F distribution: the ratio of two chi-square numbers over their `df`.

    Args:
      key: single key.
      dfnum, dfden: degrees of freedom of both parts of the ratio, which broadcast to `shape`.
      shape: static shape; that of the parameters if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, parameters do not broadcast, or an array of keys.

    Example:
      >>> random.f(random.key(0), 3.0, 4.0, (3,)).shape
      (3,)
    """
    return draw(_f, "f", key, dfnum, dfden, shape=shape, dtype=dtype, out_sharding=out_sharding)


@composite(static_argnames=STATIC)
def _t(words: Any, df: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    half = lax.div(spread(df, dtype, shape), dtype.type(2))
    first, second = split_words(words, impl, 2)
    ratio = lax.div(half, random_gamma(second, half, impl))
    return lax.mul(real_normal(first, impl, shape, dtype), lax.sqrt(ratio))


def t(
    key: Key, df: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from Student's t distribution.

    Args:
      key: single key.
      df: degrees of freedom, which broadcast to `shape`.
      shape: static shape; that of `df` if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `df` does not broadcast, or an array of keys.

    Example:
      >>> random.t(random.key(0), 3.0, (3,)).shape
      (3,)
    """
    return draw(_t, "t", key, df, shape=shape, dtype=dtype, out_sharding=out_sharding)
