"""Initializers whose numbers do not depend on the shape: constants and plain distributions."""

from typing import Any

import tans_numpy as jnp
import tans_random as random
from tans_nn.initializers.protocol import Array, DType, Initializer, Key, initial_dtype
from tans_numpy.operands import ArrayLike


def zeros(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
    """Return zeros; an initializer itself.

    Args:
      key: not used.
      shape: shape of the result.
      dtype: dtype of the result; the default float if None.
      out_sharding: sharding of the result in explicit mode.

    Example:
      >>> zeros(random.key(0), (2,)).tolist()
      [0.0, 0.0]
    """
    return jnp.zeros(shape, initial_dtype(dtype, None), out_sharding=out_sharding)


def ones(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
    """Return ones; an initializer itself.

    Args:
      key: not used.
      shape: shape of the result.
      dtype: dtype of the result; the default float if None.
      out_sharding: sharding of the result in explicit mode.

    Example:
      >>> ones(random.key(0), (2,)).tolist()
      [1.0, 1.0]
    """
    return jnp.ones(shape, initial_dtype(dtype, None), out_sharding=out_sharding)


def constant(value: ArrayLike, dtype: DType = None) -> Initializer:
    """Return an initializer that fills with a value.

    Args:
      value: broadcasts to the shape.
      dtype: default dtype.

    Example:
      >>> constant(2.0)(random.key(0), (2,)).tolist()
      [2.0, 2.0]
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        return jnp.full(shape, value, initial_dtype(dtype, default), out_sharding=out_sharding)

    return init


def uniform(scale: Any = 1e-2, dtype: DType = None) -> Initializer:
    """Return an initializer that draws uniformly from [0, scale).

    Args:
      scale: upper bound.
      dtype: default dtype, a float dtype.

    Example:
      >>> uniform(10.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dtype = initial_dtype(dtype, default)
        drawn = random.uniform(key, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: DType = None) -> Initializer:
    """Return an initializer that draws normal numbers of mean 0.

    Args:
      stddev: standard deviation.
      dtype: default dtype, float or complex.

    Example:
      >>> normal(5.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dtype = initial_dtype(dtype, default)
        drawn = random.normal(key, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(stddev, dtype)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: DType = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Return an initializer that draws from a standard normal cut at two bounds, times a factor.

    Args:
      stddev: the factor; the result has a smaller standard deviation.
      dtype: default dtype, a float dtype.
      lower: lower bound, before the factor.
      upper: upper bound, before the factor.

    Example:
      >>> truncated_normal(5.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dtype = initial_dtype(dtype, default)
        drawn = random.truncated_normal(key, lower, upper, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(stddev, dtype)

    return init
