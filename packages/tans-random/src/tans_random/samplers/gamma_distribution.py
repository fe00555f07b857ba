"""Samplers of the gamma distribution, and of its logarithm."""

from typing import Any

from tans_random.implementations import Implementation
from tans_random.random_gamma import random_gamma
from tans_random.samplers.approximate_gamma import approximate_gamma
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
    spread,
)
from tans_xla import composite

GAMMA_METHODS = ("exact", "approximate")
_STATIC = (*STATIC, "method", "log_space")


@composite(static_argnames=_STATIC)
def _gamma(
    words: Any, a: Any, *, shape: Shape, dtype: Any, impl: Implementation,
    method: str = "exact", log_space: bool = False,
) -> Array:  # fmt: skip
    a = spread(a, dtype, shape)
    if method == "approximate":
        return approximate_gamma(words, a, impl, log_space)
    return random_gamma(words, a, impl, log_space)


def gamma(
    key: Key, a: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    method: str = "exact", out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the gamma distribution with scale 1.

    Its density is ``x**(a-1) exp(-x)`` over the gamma function of `a`. Samples are differentiable
    in `a`.

    Args:
      key: single key.
      a: shape parameter, which broadcasts to `shape`.
      shape: static shape; that of `a` if None.
      dtype: floating-point dtype; the default one if None.
      method: "exact", or "approximate" for one pass without rejection.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `a` does not broadcast, an unknown method, or an array
        of keys.

    Example:
      >>> random.gamma(random.key(0), 2.0, (3,)).shape
      (3,)
    """
    check_choice("gamma", "method", method, GAMMA_METHODS)
    return draw(
        _gamma, "gamma", key, a, shape=shape, dtype=dtype, out_sharding=out_sharding,
        method=method,
    )  # fmt: skip


def loggamma(
    key: Key, a: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    method: str = "exact", out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample logarithms of gamma numbers, accurate where the numbers underflow (small `a`).

    Args:
      key: single key.
      a: shape parameter, which broadcasts to `shape`.
      shape: static shape; that of `a` if None.
      dtype: floating-point dtype; the default one if None.
      method: "exact", or "approximate" for one pass without rejection.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `a` does not broadcast, an unknown method, or an array
        of keys.

    Example:
      >>> random.loggamma(random.key(0), 0.001, (3,)).shape
      (3,)
    """
    check_choice("loggamma", "method", method, GAMMA_METHODS)
    return draw(
        _gamma, "loggamma", key, a, shape=shape, dtype=dtype, out_sharding=out_sharding,
        method=method, log_space=True,
    )  # fmt: skip


def log_gamma_numbers(words: Any, a: Any, impl: Implementation, method: str = "exact") -> Array:
    """Return logarithms of gamma numbers for each element of `a`."""
    if method == "approximate":
        return approximate_gamma(words, a, impl, log_space=True)
    return random_gamma(words, a, impl, log_space=True)
