"""Sampler of the Wald (inverse Gaussian) distribution."""

from typing import Any

import tans_lax as lax
from tans_random.implementations import Implementation
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    draw,
    split_words,
    spread,
)
from tans_random.samplers.normal import real_normal
from tans_random.samplers.uniform import unit_uniform
from tans_xla import composite


@composite(static_argnames=STATIC)
def _wald(words: Any, mean: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    # With y = z**2, x is the smaller root of (x - mean)**2 / (mean**2 x) = y. The roots have the
    # product mean**2; the smaller one is taken with probability mean / (mean + x).
    mean = spread(mean, dtype, shape)
    first, second = split_words(words, impl, 2)
    y = lax.square(real_normal(first, impl, shape, dtype))
    mean2, two = lax.square(mean), dtype.type(2)
    root = lax.mul(lax.mul(dtype.type(4), mean), y)
    root = lax.sqrt(lax.add(root, lax.mul(mean2, lax.square(y))))
    x = lax.add(mean, lax.div(lax.mul(mean2, y), two))
    x = lax.sub(x, lax.mul(lax.div(mean, two), root))
    u = unit_uniform(second, impl, shape, dtype)
    return lax.select(lax.le(u, lax.div(mean, lax.add(mean, x))), x, lax.div(mean2, x))


def wald(
    key: Key, mean: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the Wald distribution, or inverse Gaussian, with scale 1.

    Args:
      key: single key.
      mean: mean, which broadcasts to `shape`.
      shape: static shape; that of `mean` if None.
      dtype: floating-point dtype; the default one if None.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not floating, `mean` does not broadcast, or an array of keys.

    Example:
      >>> bool(random.wald(random.key(0), 2.0) > 0)
      True

    References:
      Michael, Schucany, Haas, "Generating random variates using transformations with multiple
      roots", 1976.
    """
    return draw(_wald, "wald", key, mean, shape=shape, dtype=dtype, out_sharding=out_sharding)
