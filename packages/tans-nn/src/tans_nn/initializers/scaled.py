"""Initializers whose variance follows from the numbers of inputs and outputs."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_core import dtypes
from tans_nn.initializers.protocol import (
    Array,
    DType,
    Initializer,
    Key,
    as_sizes,
    initial_dtype,
)
from tans_xla import composite

type Axes = int | Sequence[int]
type Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
type Distribution = Literal["truncated_normal", "normal", "uniform"]

# Standard deviation of a standard normal that is cut at -2 and 2, and of a complex one whose
# absolute value is cut at 2.
_CUT_DEVIATION: Final = 0.87962566103423978
_CUT_COMPLEX_DEVIATION: Final = 0.95311164380491208


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return the numbers of inputs and outputs of each unit; other axes are receptive field."""
    if len(shape) <= 1:
        raise ValueError(
            f"variance_scaling: given the shape {tuple(shape)}, expected at least two dimensions: "
            "one of inputs and one of outputs. For a vector use normal(stddev) or zeros."
        )

    def size(axes: Axes) -> int:
        listed = (axes,) if isinstance(axes, int) else axes
        return math.prod(shape[i] for i in listed)

    n_in, n_out = size(in_axis), size(out_axis)
    field = math.prod(shape) / max(n_in * n_out * size(batch_axis), 1)
    return n_in * field, n_out * field


def _denominator(mode: str, fan_in: float, fan_out: float) -> float:
    match mode:
        case "fan_in":
            return fan_in
        case "fan_out":
            return fan_out
        case "fan_avg":
            return (fan_in + fan_out) / 2
        case "fan_geo_avg":
            return math.sqrt(fan_in * fan_out)
    raise ValueError(
        f"variance_scaling: given the mode {mode!r}, expected 'fan_in', 'fan_out', 'fan_avg' or "
        "'fan_geo_avg'. Use 'fan_in' to keep the variance of activations."
    )


def _polar(radius: Array, turns: Array) -> Array:
    angle = 2 * math.pi * turns
    return lax.complex(radius * jnp.cos(angle), radius * jnp.sin(angle))


@composite(static_argnames=("shape", "dtype"))
def _in_unit_disc(key: Key, *, shape: tuple[int, ...], dtype: Any) -> Array:
    real = np.empty((), dtype).real.dtype
    key_radius, key_angle = random.split(key)
    radius = jnp.sqrt(random.uniform(key_radius, shape, real))
    return _polar(radius, random.uniform(key_angle, shape, real))


@composite(static_argnames=("shape", "dtype"))
def _cut_complex_normal(key: Key, *, shape: tuple[int, ...], dtype: Any) -> Array:
    real = np.empty((), dtype).real.dtype
    key_radius, key_angle = random.split(key)
    # The squared radius of a standard complex normal is exponential; it is cut at 2 squared.
    mass = (1 - math.exp(-4.0)) * random.uniform(key_radius, shape, real)
    radius = jnp.sqrt(-jnp.log(1 - mass))
    return _polar(radius, random.uniform(key_angle, shape, real))


def _draw(key: Key, distribution: str, variance: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    is_complex = dtypes.is_complex(dtype)
    variance = jnp.asarray(variance, np.empty((), dtype).real.dtype)
    match distribution:
        case "normal":
            return random.normal(key, shape, dtype) * jnp.sqrt(variance).astype(dtype)
        case "uniform" if is_complex:
            scale = jnp.sqrt(2 * variance).astype(dtype)  # a disc of radius 1 has variance 1 / 2
            return _in_unit_disc(key, shape=shape, dtype=dtype) * scale
        case "uniform":
            return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
        case "truncated_normal" if is_complex:
            scale = jnp.sqrt(variance) / _CUT_COMPLEX_DEVIATION
            return _cut_complex_normal(key, shape=shape, dtype=dtype) * scale.astype(dtype)
        case "truncated_normal":
            scale = jnp.sqrt(variance) / jnp.asarray(_CUT_DEVIATION, dtype)
            return random.truncated_normal(key, -2, 2, shape, dtype) * scale
    raise ValueError(
        f"variance_scaling: given the distribution {distribution!r}, expected 'truncated_normal', "
        "'normal' or 'uniform'. Use 'normal' for unbounded values."
    )


def variance_scaling(
    scale: Any, mode: Mode, distribution: Distribution, in_axis: Axes = -2, out_axis: Axes = -1,
    batch_axis: Axes = (), dtype: DType = None,
) -> Initializer:  # fmt: skip
    """Return an initializer whose variance is `scale` divided by a number of inputs or outputs.

    Args:
      scale: variance for one input (or output).
      mode: what to divide by: the inputs, the outputs, their mean or geometric mean.
      distribution: shape of the distribution.
      in_axis: axis or axes of inputs.
      out_axis: axis or axes of outputs.
      batch_axis: axis or axes of independent weights. All other axes are a receptive field, whose
        size multiplies inputs and outputs.
      dtype: default dtype, float or complex.

    Raises:
      ValueError: unknown mode or distribution; the initializer, for a shape of rank below 2.

    Example:
      >>> variance_scaling(2.0, "fan_in", "normal")(random.key(0), (3, 4)).shape
      (3, 4)

    References:
      He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015.
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dims = as_sizes(shape)
        denominator = _denominator(mode, *_fans(dims, in_axis, out_axis, batch_axis))
        # Weights without inputs have no values: their variance must only not fail.
        variance = scale / max(denominator, 1e-30)
        out = _draw(key, distribution, variance, dims, initial_dtype(dtype, default))
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init


def _named(scale: float, mode: str, distribution: str, name: str, who: str) -> Any:
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DType = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Return the initializer of {who}.

    It is ``variance_scaling({scale}, "{mode}", "{distribution}")``.

    Args:
      in_axis: axis or axes of inputs.
      out_axis: axis or axes of outputs.
      batch_axis: axis or axes of independent weights.
      dtype: default dtype, float or complex.

    Example:
      >>> {name}()(random.key(0), (3, 4)).shape
      (3, 4)
    """
    return make


glorot_uniform = xavier_uniform = _named(
    1.0, "fan_avg", "uniform", "glorot_uniform", "Glorot and Bengio"
)
glorot_normal = xavier_normal = _named(
    1.0, "fan_avg", "truncated_normal", "glorot_normal", "Glorot and Bengio"
)
lecun_uniform = _named(1.0, "fan_in", "uniform", "lecun_uniform", "LeCun and others")
lecun_normal = _named(1.0, "fan_in", "truncated_normal", "lecun_normal", "LeCun and others")
he_uniform = kaiming_uniform = _named(2.0, "fan_in", "uniform", "he_uniform", "He and others")
he_normal = kaiming_normal = _named(2.0, "fan_in", "truncated_normal", "he_normal", "He and others")
