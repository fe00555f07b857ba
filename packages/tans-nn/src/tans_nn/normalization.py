"""Functions that normalise along dimensions, and one-hot rows."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.creation import requested_dtype
from tans_numpy.exponential_sums import log_softmax, logsumexp, softmax
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    promote_dtypes_inexact,
)
from tans_xla import composite
from tans_xla.sizes import Size, as_size

__all__ = ("log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize")

type Array = Any
type Axis = Any


@composite(static_argnames=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Compute ``log(mean(exp(x)))`` without overflow.

    Args:
      x: any shape, real or complex; integers become the default float.
      axis: int or ints to reduce; all if None.
      where: booleans that broadcast to `x`; elements where it is False are left out.
      keepdims: keep reduced dimensions with size 1.

    Returns:
      Array of the shape of `x` without `axis`; nan where nothing is left.

    Raises:
      ValueError: an axis is out of range or given twice.

    Example:
      >>> round(float(logmeanexp(jnp.array([1000.0, 1000.0]))), 3)
      1000.0
    """
    total = logsumexp(x, axis, keepdims=keepdims, where=where)
    dims = typeof(x).shape
    axes = canonicalize_axes(axis, len(dims), "logmeanexp")
    if where is None:
        count = np.prod([dims[i] for i in axes], dtype=np.float64)
        with np.errstate(divide="ignore"):
            return total - typeof(total).dtype.type(np.log(count))
    chosen = jnp.broadcast_to(where, dims)
    return total - jnp.log(jnp.sum(chosen, axes, dtype=typeof(total).dtype, keepdims=keepdims))


def _standardize(
    x: Array, mean: Any, variance: Any, epsilon: Any, where: Any, *, axes: Any, algorithm: str
) -> Array:
    if mean is None:
        mean = jnp.mean(x, axes, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.mean(jnp.square(x - mean), axes, keepdims=True, where=where)
        else:
            raw = jnp.mean(jnp.square(x), axes, keepdims=True, where=where) - jnp.square(mean)
            # Rounding can bring the difference below 0.
            variance = jnp.clip(raw, 0)
    return jnp.subtract(x, mean) * lax.rsqrt(jnp.add(variance, epsilon))


@composite(static_argnames=("axis", "algorithm"))
def standardize(
    x: ArrayLike, axis: Axis = -1, mean: ArrayLike | None = None,
    variance: ArrayLike | None = None, epsilon: ArrayLike = 1e-5, where: ArrayLike | None = None,
    *, algorithm: str = "fast",
) -> Array:  # fmt: skip
    """Bring `x` to mean 0 and variance 1.

    Args:
      x: any shape, real; integers become the default float.
      axis: int or ints along which the mean and the variance are taken.
      mean: the mean to use, broadcasts with `x`; computed if None.
      variance: the variance to use, broadcasts with `x`; computed if None.
      epsilon: added to the variance.
      where: booleans that broadcast to `x`; others do not count for mean and variance.
      algorithm: "fast" takes the variance as the mean of squares minus the square of the mean,
        which reads `x` once but loses digits when the mean is large; "stable" subtracts the mean
        first.

    Returns:
      Array of the shape of `x`.

    Raises:
      ValueError: unknown algorithm, or an axis that is out of range.

    Example:
      >>> standardize(jnp.array([-1.0, 1.0]), epsilon=0.0).tolist()
      [-1.0, 1.0]
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f"standardize: given the algorithm {algorithm!r}, expected 'fast' or 'stable'. "
            "Use 'stable' for data with a large mean."
        )
    (x,) = promote_dtypes_inexact("standardize", x)
    axes = canonicalize_axes(axis, typeof(x).ndim, "standardize")
    return _standardize(x, mean, variance, epsilon, where, axes=axes, algorithm=algorithm)


@composite(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Array, *, num_classes: int, dtype: Any, axis: int) -> Array:
    aval = typeof(x)
    kept = tuple(i for i in range(aval.ndim + 1) if i != axis)
    sizes = list(aval.shape)
    sizes.insert(axis, 1)
    x = lax.broadcast_in_dim(x, tuple(sizes), kept)
    ones = (1,) * axis + (num_classes,) + (1,) * (aval.ndim - axis)
    classes = lax.broadcasted_iota(aval.dtype, ones, axis)
    return lax.convert_element_type(jnp.equal(x, classes), dtype)


def one_hot(
    x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1, out_sharding: Any = None
) -> Array:
    """Return an array with a dimension of classes: 1 at the class, 0 elsewhere.

    Args:
      x: classes, any shape, integers; a class outside the range gives zeros.
      num_classes: size of the new dimension.
      dtype: dtype of the result; the default float if None.
      axis: position of the new dimension, or the name of a mapped axis of that size along which
        the classes lie.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [..., num_classes], or the shape of `x` for a named axis.

    Raises:
      ValueError: `axis` is out of range, or a named axis has another size.
      TypeError: `num_classes` is negative or not an integer.

    Example:
      >>> one_hot(jnp.array([1, 3]), 3).tolist()
      [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    x = jnp.asarray(x)
    num_classes = _class_count(num_classes)
    dtype = dtypes.default_float() if dtype is None else requested_dtype(dtype, "one_hot")
    if isinstance(axis, int | np.integer):
        position = canonicalize_axis(axis, typeof(x).ndim + 1, "one_hot")
        out = _one_hot(x, num_classes=num_classes, dtype=dtype, axis=position)
        return out if out_sharding is None else lax.reshape(
            out, typeof(out).shape, out_sharding=out_sharding
        )  # fmt: skip
    size = lax.axis_size(axis)
    if size != num_classes:
        raise ValueError(
            f"one_hot: given {num_classes} classes along the mapped axis {axis!r} of size {size}, "
            "expected equal numbers. Map over as many elements as there are classes."
        )
    return lax.convert_element_type(jnp.equal(x, lax.axis_index(axis)), dtype)


def _class_count(num_classes: Any) -> Size:
    count = as_size(num_classes) if hasattr(num_classes, "__index__") else None
    if count is None or count < 0:
        raise TypeError(
            f"one_hot: given num_classes={num_classes!r}, expected an integer of at least 0 that "
            "is known while tracing. Pass a Python integer."
        )
    return count
