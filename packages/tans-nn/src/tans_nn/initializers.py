"""Initial values of weights: functions of (key, shape, dtype) that draw an array."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_core import dtypes
from tans_numpy.creation import requested_dtype
from tans_numpy.operands import ArrayLike
from tans_xla import composite

type Array = Any
type Key = Any
type DType = Any
type Axes = int | Sequence[int]
type Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
type Distribution = Literal["truncated_normal", "normal", "uniform"]

# Standard deviation of a standard normal that is cut at -2 and 2, and of a complex one whose
# absolute value is cut at 2.
_CUT_DEVIATION: Final = 0.87962566103423978
_CUT_COMPLEX_DEVIATION: Final = 0.95311164380491208


class Initializer(Protocol):
    """What an initializer is: a function that draws an array of a given shape."""

    def __call__(
        self, key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None
    ) -> Array:
        """Draw an array.

        Args:
          key: a random key.
          shape: shape of the result.
          dtype: float or complex dtype; that of the initializer if None.
          out_sharding: sharding of the result in explicit mode.
        """
        ...


def _dtype(dtype: DType, default: DType) -> Any:
    dtype = default if dtype is None else dtype
    return dtypes.default_float() if dtype is None else requested_dtype(dtype, "initializer")


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
    return jnp.zeros(shape, _dtype(dtype, None), out_sharding=out_sharding)


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
    return jnp.ones(shape, _dtype(dtype, None), out_sharding=out_sharding)


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
        return jnp.full(shape, value, _dtype(dtype, default), out_sharding=out_sharding)

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
        dtype = _dtype(dtype, default)
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
        dtype = _dtype(dtype, default)
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
        dtype = _dtype(dtype, default)
        drawn = random.truncated_normal(key, lower, upper, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(stddev, dtype)

    return init


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
        out = _draw(key, distribution, variance, dims, _dtype(dtype, default))
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init


def as_sizes(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of Python integers.

    Raises:
      TypeError: a size is not an integer.
    """
    try:
        return tuple(n.__index__() for n in shape)
    except (AttributeError, TypeError):
        raise TypeError(
            f"initializer: given the shape {shape!r}, expected integers that are known while "
            "tracing. Pass a tuple of Python integers."
        ) from None


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


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer of matrices with orthonormal rows or columns, times a factor.

    Args:
      scale: the factor.
      column_axis: the axis that is the second dimension of the matrix; all others together are
        the first.
      dtype: default dtype, float or complex.

    Raises:
      ValueError: (the initializer) the shape has less than two dimensions.

    Example:
      >>> orthogonal()(random.key(0), (3, 2)).shape
      (3, 2)

    References:
      Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep
      linear neural networks", 2013.
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dims, dtype = as_sizes(shape), _dtype(dtype, default)
        if len(dims) < 2:
            raise ValueError(
                f"orthogonal: given the shape {dims}, expected at least two dimensions. For a "
                "vector use normal(stddev)."
            )
        columns = dims[column_axis]
        rows = math.prod(dims) // max(columns, 1)
        matrix = _orthonormal(key, rows, columns, dtype)
        rest = tuple(np.delete(dims, column_axis).tolist())
        out = jnp.moveaxis(jnp.reshape(matrix, (*rest, columns)), -1, column_axis)
        out = jnp.asarray(scale, dtype) * out
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init


@composite(static_argnames=("rows", "columns", "dtype"), static_argnums=(1, 2, 3))
def _orthonormal(key: Key, rows: int, columns: int, dtype: Any) -> Array:
    tall = (max(rows, columns), min(rows, columns))
    q, r = lax.linalg.qr(random.normal(key, tall, dtype), full_matrices=False)
    # With the phases of r's diagonal taken out, q is uniform among orthonormal matrices.
    diagonal = jnp.diagonal(r)
    phase = jnp.where(diagonal == 0, 1, diagonal / jnp.abs(jnp.where(diagonal == 0, 1, diagonal)))
    q = q * phase.astype(dtype)
    return q.T if rows < columns else q


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer of convolution kernels: orthogonal at the centre, 0 elsewhere.

    Args:
      scale: factor of the orthogonal matrix.
      column_axis: the axis of outputs in the matrix.
      dtype: default dtype, float or complex.

    Raises:
      ValueError: (the initializer) the shape has not 3 to 5 dimensions, or more inputs than
        outputs.

    Example:
      >>> delta_orthogonal()(random.key(0), (3, 2, 2)).shape
      (3, 2, 2)

    References:
      Xiao, Bahri, Sohl-Dickstein, Schoenholz, Pennington, "Dynamical isometry and a mean field
      theory of CNNs", 2018.
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dims, dtype = as_sizes(shape), _dtype(dtype, default)
        if len(dims) not in (3, 4, 5) or dims[-2] > dims[-1]:
            raise ValueError(
                f"delta_orthogonal: given the shape {dims}, expected 3 to 5 dimensions [..., "
                "inputs, outputs] with at least as many outputs as inputs. Use orthogonal for a "
                "matrix."
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, dims[-2:])
        centre = tuple((n - 1) // 2 for n in dims[:-2])
        out = jnp.zeros(dims, dtype).at[centre].set(matrix)
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init
