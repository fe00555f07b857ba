"""Arrays filled with one value: zeros, ones, full, also with the shape of another array."""

from typing import Any

import tans_lax as lax
from tans_core import Array, dtypes, typeof
from tans_numpy.creation import Shape, array, as_shape, requested_dtype
from tans_numpy.dims import repeat_to
from tans_numpy.operands import (
    PYTHON_SCALARS,
    broadcast_shapes,
    check_arraylike,
    typed_scalar,
    weak_scalar,
)
from tans_xla import composite, device_put

type ArrayLike = Any
type DTypeLike = Any


@composite(static_argnames=("shape", "dtype", "weak"))
def _filled(value: Any, *, shape: tuple[int, ...], dtype: Any, weak: bool = False) -> Any:
    return lax.broadcast_in_dim(_strong(value, dtype), shape, ())


def _strong(value: Any, dtype: Any) -> Any:
    if type(value) in PYTHON_SCALARS:
        return typed_scalar(value, dtype)
    return lax.convert_element_type(value, dtype)


@composite(static_argnames=("shape", "dtype", "value", "weak"))
def _constant(*, shape: tuple[int, ...], dtype: Any, value: Any, weak: bool = False) -> Any:
    if dtypes.is_extended(dtype):
        return dtype.zeros(shape)
    if weak:
        return lax.broadcast_in_dim(weak_scalar(value, dtype), shape, ())
    return lax.broadcast_in_dim(dtype.type(value), shape, ())


def _dtype_or_float(dtype: Any, where: str) -> Any:
    return dtypes.default_float() if dtype is None else requested_dtype(dtype, where)


def _on(x: Any, device: Any, out_sharding: Any) -> Any:
    where = out_sharding if device is None else device
    return x if where is None else device_put(x, where)


def zeros(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of zeros.

    Args:
      shape: int or ints.
      dtype: dtype; the default float if None.
      device: device or sharding to put the array on.
      out_sharding: likewise.
    """
    shape = as_shape(shape, "zeros")
    out = _constant(shape=shape, dtype=_dtype_or_float(dtype, "zeros"), value=0)
    return _on(out, device, out_sharding)


def ones(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of ones.

    Args:
      shape: int or ints.
      dtype: dtype; the default float if None.
      device: device or sharding to put the array on.
      out_sharding: likewise.
    """
    shape = as_shape(shape, "ones")
    out = _constant(shape=shape, dtype=_dtype_or_float(dtype, "ones"), value=1)
    return _on(out, device, out_sharding)


def empty(
    shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Return an array of zeros: there is no uninitialised memory.

    Args:
      shape: int or ints.
      dtype: dtype; the default float if None.
      device: device or sharding to put the array on.
      out_sharding: likewise.
    """
    return zeros(shape, dtype, device=device, out_sharding=out_sharding)


def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return an array filled with a value.

    Args:
      shape: int or ints.
      fill_value: scalar, or array that broadcasts to `shape`.
      dtype: dtype; that of `fill_value` if None.
      device: device or sharding to put the array on.
      out_sharding: likewise.
    """
    check_arraylike("full", fill_value)
    shape = as_shape(shape, "full")
    aval = typeof(fill_value)
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else requested_dtype(dtype, "full")
    if aval.ndim == 0:
        value = fill_value if not weak else array(fill_value)
        out = _filled_weak(value, shape=shape) if weak else _filled(value, shape=shape, dtype=dtype)
    else:
        broadcast_shapes("full", aval.shape, shape)
        out = repeat_to(array(fill_value, dtype), shape)
    return _on(out, device, out_sharding)


@composite(static_argnames=("shape",))
def _filled_weak(value: Any, *, shape: tuple[int, ...]) -> Any:
    return lax.broadcast_in_dim(value, shape, ())


def _like(a: Any, dtype: Any, shape: Any, where: str) -> tuple[tuple[int, ...], Any, bool]:
    """Return the shape and dtype of `a`, unless given, and whether the dtype is a weak one."""
    if not hasattr(a, "shape") or not hasattr(a, "dtype"):
        check_arraylike(where, a)
        a = typeof(a)
    weak = dtype is None and bool(getattr(a, "weak_type", False))
    return (
        tuple(a.shape) if shape is None else as_shape(shape, where),
        dtypes.canonicalize(a.dtype) if dtype is None else requested_dtype(dtype, where),
        weak,
    )


def zeros_like(
    a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return zeros with the shape and dtype of `a`, unless given."""
    shape, dtype, weak = _like(a, dtype, shape, "zeros_like")
    return _on(_constant(shape=shape, dtype=dtype, value=0, weak=weak), device, out_sharding)


def ones_like(
    a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return ones with the shape and dtype of `a`, unless given."""
    shape, dtype, weak = _like(a, dtype, shape, "ones_like")
    return _on(_constant(shape=shape, dtype=dtype, value=1, weak=weak), device, out_sharding)


def empty_like(
    prototype: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *,
    device: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return zeros with the shape and dtype of `prototype`, unless given."""
    return zeros_like(prototype, dtype, shape, device=device, out_sharding=out_sharding)


def full_like(
    a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *,
    device: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return an array filled with a value, with the shape and dtype of `a`, unless given."""
    shape, dtype, _ = _like(a, dtype, shape, "full_like")
    return full(shape, fill_value, dtype, device=device, out_sharding=out_sharding)
