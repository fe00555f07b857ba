"""Arrays from a shape: iota, empty, full, full_like."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray, dtypes, is_value, typeof
from tans_core.dtype_queries import issubdtype
from tans_core.hi_types import is_hi_type
from tans_lax.conversion import convert_element_type, convert_element_type_p
from tans_lax.elementwise.operands import PYTHON_SCALARS, typed_scalar
from tans_lax.mesh.states import cast_to_type, has_states, vary_like
from tans_lax.shape import broadcast_in_dim_p
from tans_xla.sizes import as_int, as_ints, as_size, as_sizes

type Value = Any  # an array, a Python scalar or a tracer
type Shape = Sequence[int]
type DTypeLike = Any  # a dtype, its name, or a scalar class

iota_p: Final = Primitive("iota", family=__name__)
empty_p: Final = Primitive("empty", family=__name__)


def iota(dtype: DTypeLike, size: int) -> Value:
    """Return the numbers from 0 to ``size - 1``.

    Args:
      dtype: integer, float or complex dtype of the result.
      size: number of elements.

    Returns:
      Array of shape ``(size,)``.

    Raises:
      TypeError: the dtype is boolean, or the size is negative.

    Example:
      >>> lax.iota("int32", 3).tolist()
      [0, 1, 2]
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: DTypeLike, shape: Shape, dimension: int, *, out_sharding: Any = None
) -> Value:
    """Return an array that counts from 0 along one dimension.

    Args:
      dtype: integer, float or complex dtype of the result.
      shape: shape of the result.
      dimension: the dimension to count along.
      out_sharding: sharding of the result; None leaves it to the rule.

    Raises:
      TypeError: the dtype is boolean, or a size is negative.
      ValueError: the dimension does not exist.

    Example:
      >>> lax.broadcasted_iota("int32", (2, 2), 1).tolist()
      [[0, 1], [0, 1]]
    """
    return iota_p.bind(
        dtype=dtypes.canonicalize(dtype),
        shape=as_sizes(shape),
        dimension=as_int(dimension),
        sharding=out_sharding,
    )


def empty(shape: Shape, dtype: DTypeLike, *, out_sharding: Any = None) -> Value:
    """Return an array whose values are unspecified (zeros, as it happens).

    Args:
      shape: shape of the result.
      dtype: any dtype.
      out_sharding: sharding of the result; None leaves it to the rule.

    Raises:
      TypeError: a size is negative, or there is no such dtype.

    Example:
      >>> lax.empty((2,), "float32").shape
      (2,)
    """
    return empty_p.bind(
        shape=as_sizes(shape),
        dtype=dtypes.canonicalize(dtype),
        out_sharding=out_sharding,
    )


def full(
    shape: Shape, fill_value: Value, dtype: DTypeLike | None = None, *, sharding: Any = None
) -> Value:
    """Return an array with one value everywhere.

    Args:
      shape: shape of the result; one size for a vector.
      fill_value: the value, of rank 0; for keys also an integer, which all their words are then.
      dtype: dtype of the result; None is that of `fill_value`, weak for Python scalars.
      sharding: sharding of the result; None leaves it to the rule.

    Raises:
      TypeError: `fill_value` has dimensions, or a size is negative.

    Example:
      >>> lax.full((2,), 7).tolist()
      [7, 7]
    """
    aval = typeof(fill_value)
    if aval.shape:
        raise TypeError(
            f"lax.full: given a fill_value of shape {aval.shape}; expected a scalar. Use "
            "lax.broadcast_in_dim, or jnp.full, which broadcasts."
        )
    if dtype is not None:
        fill_value = _as_strong(fill_value, aval, dtypes.canonicalize(dtype))
    shape = (as_size(shape),) if hasattr(shape, "__index__") else as_sizes(shape)
    return broadcast_in_dim_p.bind(
        fill_value, shape=shape, broadcast_dimensions=(), sharding=sharding
    )


def _as_strong(value: Value, aval: ShapedArray, dtype: Any) -> Value:
    """Return a scalar of exactly `dtype`; a constant stays a constant."""
    if aval.dtype == dtype and not aval.weak_type:
        return value
    if dtypes.is_extended(dtype):
        words = issubdtype(aval.dtype, np.integer)
        return dtype.full((), value) if words else convert_element_type(value, dtype)
    if type(value) in PYTHON_SCALARS or type(value) is bool:
        try:
            return dtype.type(value)
        except OverflowError:
            raise OverflowError(
                f"lax.full: given the Python integer {value} as fill_value, expected one that "
                f"{dtype} holds. Choose a wider dtype; for 64 bits enable x64."
            ) from None
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False, sharding=None)


def full_like(
    x: Value,
    fill_value: Value,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    sharding: Any = None,
) -> Value:
    """Return an array with one value everywhere and the shape and dtype of another.

    Args:
      x: an array, or an object with `shape` and `dtype`.
      fill_value: the value, of rank 0; for keys also an integer, which all their words are then.
      dtype: dtype of the result; None is that of `x`, weak if it is.
      shape: shape of the result; None is that of `x`.
      sharding: sharding of the result; None is that of the type of `x`, if the shape is.

    Raises:
      TypeError: `fill_value` has dimensions, or a size is negative.

    Example:
      >>> lax.full_like(np.zeros(2, "int32"), 7).tolist()
      [7, 7]
    """
    aval = getattr(x, "aval", None)
    if aval is None:
        aval = typeof(x) if is_value(x) else ShapedArray(x.shape, x.dtype)
    if sharding is None and shape is None:
        sharding = _sharding_of(aval)
    shape = aval.shape if shape is None else as_ints(shape)
    if dtype is None and type(fill_value) in PYTHON_SCALARS:
        value = _like(aval, fill_value)
        out = broadcast_in_dim_p.bind(
            value, shape=shape, broadcast_dimensions=(), sharding=sharding
        )
    else:
        out = full(shape, fill_value, aval.dtype if dtype is None else dtype, sharding=sharding)
    return vary_like(out, aval) if aval.manual_axes else out


def zeros_like_aval(aval: Any) -> Value:
    """Return zeros of a type; a constant for scalars, a NumPy array for float0."""
    if is_hi_type(aval):
        return aval.vspace_zero()
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    zero = _like(aval, 0)
    if not aval.shape and not aval.is_sharded:
        return cast_to_type(zero, aval) if aval.manual_axes else zero
    zeros = broadcast_in_dim_p.bind(
        zero, shape=aval.shape, broadcast_dimensions=(), sharding=_sharding_of(aval)
    )
    return cast_to_type(zeros, aval) if has_states(aval) else zeros


def _sharding_of(aval: Any) -> Any:
    if not getattr(aval, "is_sharded", False):
        return None
    sharding = aval.sharding
    spec = sharding.spec
    # States along manual axes are no part of it.
    return sharding if any(spec.partitions) or spec.unreduced or spec.reduced else None


def shape_as_value(shape: Shape) -> Value:
    """Return a shape as an integer vector of NumPy.

    Args:
      shape: sizes.

    Raises:
      TypeError: a size is not an integer.

    Example:
      >>> lax.shape_as_value((2, 3)).tolist()
      [2, 3]
    """
    return np.asarray(as_ints(shape), dtypes.default_int())


def _like(aval: Any, value: complex) -> Value:
    """Return a Python number as a scalar that has the dtype and weakness of `aval`."""
    if aval.weak_type:
        kind = {"i": int, "u": int, "f": float, "c": complex}.get(aval.dtype.kind)
        weak = typed_scalar(kind(value), aval.dtype) if kind else value
        if type(weak) is kind:
            return weak
    dtype = dtypes.canonicalize(aval.dtype)
    return dtype.full((), value) if dtypes.is_extended(dtype) else dtype.type(value)
