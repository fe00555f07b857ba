"""Arrays filled with one value: zeros, ones, full, also with the shape of another array."""

from typing import Any

import tans_lax as lax
from tans_core import Array, dtypes, typeof
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_array
from tans_lax.mesh.states import vary_like
from tans_numpy.creation import Shape, array, as_shape, refused_complex, requested_dtype
from tans_numpy.dims import repeat_to
from tans_numpy.operands import (
    PYTHON_SCALARS,
    broadcast_shapes,
    check_arraylike,
    scalar_of,
    typed_scalar,
    weak_scalar,
)
from tans_xla import composite, device_put

type ArrayLike = Any
type DTypeLike = Any


@composite(static_argnames=("shape", "dtype", "out_sharding"))
def _filled(value: Any, *, shape: tuple[int, ...], dtype: Any, out_sharding: Any = None) -> Any:
    return lax.broadcast_in_dim(_strong(value, dtype), shape, (), out_sharding=out_sharding)


def _strong(value: Any, dtype: Any) -> Any:
    if type(value) in PYTHON_SCALARS or dtypes.is_extended(dtype):
        return scalar_of(value, dtype)
    return lax.convert_element_type(value, dtype)


@composite(static_argnames=("shape", "dtype", "value", "weak", "out_sharding"))
def _constant(
    *, shape: tuple[int, ...], dtype: Any, value: Any, weak: bool = False, out_sharding: Any = None
) -> Any:
    if dtypes.is_extended(dtype):
        return dtype.full(shape, value)
    scalar = weak_scalar(value, dtype) if weak else dtype.type(value)
    return lax.broadcast_in_dim(scalar, shape, (), out_sharding=out_sharding)


def _dtype_or_float(dtype: Any, where: str) -> Any:
    return dtypes.default_float() if dtype is None else requested_dtype(dtype, where)


def _on(x: Any, device: Any) -> Any:
    return x if device is None else device_put(x, device)


def _one_place(device: Any, out_sharding: Any, where: str) -> Any:
    """Return `out_sharding` after checking that it does not compete with `device`."""
    if device is not None and out_sharding is not None:
        raise ValueError(
            f"{where}: given device={device} and out_sharding={out_sharding}, expected at most one "
            "of them. Leave one out."
        )
    return out_sharding


def _sharding_like(a: Any, shape: Any, device: Any) -> Any:
    """Return the sharding in the type of `a`, when the result is to have its shape."""
    if shape is not None or device is not None or not hasattr(a, "aval"):
        return None
    if not getattr(a.aval, "is_sharded", False):
        return None
    return a.sharding if isinstance(a.sharding, NamedSharding) else a.aval.sharding


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
    out_sharding = _one_place(device, out_sharding, "zeros")
    dtype = _dtype_or_float(dtype, "zeros")
    return _on(_constant(shape=shape, dtype=dtype, value=0, out_sharding=out_sharding), device)


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
    out_sharding = _one_place(device, out_sharding, "ones")
    dtype = _dtype_or_float(dtype, "ones")
    return _on(_constant(shape=shape, dtype=dtype, value=1, out_sharding=out_sharding), device)


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
    if type(fill_value) is complex and dtype.kind not in "cbV":
        raise refused_complex("full", fill_value, dtype)
    if type(fill_value) is int and not weak and not dtypes.is_extended(dtype):
        fill_value = typed_scalar(fill_value, dtype)
    if aval.ndim == 0:
        out_sharding = _one_place(device, out_sharding, "full")
        if weak:
            out = _filled_weak(array(fill_value), shape=shape, out_sharding=out_sharding)
        else:
            out = _filled(fill_value, shape=shape, dtype=dtype, out_sharding=out_sharding)
    else:
        broadcast_shapes("full", aval.shape, shape)
        out = repeat_to(array(fill_value, dtype), shape)
        out = out if out_sharding is None else reshard_array(out, out_sharding)
    return _on(out, device)


@composite(static_argnames=("shape", "out_sharding"))
def _filled_weak(value: Any, *, shape: tuple[int, ...], out_sharding: Any = None) -> Any:
    return lax.broadcast_in_dim(value, shape, (), out_sharding=out_sharding)


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
    return _constant_like(a, 0, dtype, shape, device, out_sharding, "zeros_like")


def _varying_like(x: Any, a: Any) -> Any:
    """Inside of shard_map, let `x` vary along the axes along which `a` does."""
    aval = getattr(a, "aval", None)
    return vary_like(x, aval) if getattr(aval, "manual_axes", None) else x


def _constant_like(
    a: Any, value: int, dtype: Any, shape: Any, device: Any, out_sharding: Any, where: str
) -> Any:
    sharding = _one_place(device, out_sharding, where) or _sharding_like(a, shape, device)
    shape, dtype, weak = _like(a, dtype, shape, where)
    out = _constant(shape=shape, dtype=dtype, value=value, weak=weak, out_sharding=sharding)
    return _on(_varying_like(out, a), device)


def ones_like(
    a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return ones with the shape and dtype of `a`, unless given."""
    return _constant_like(a, 1, dtype, shape, device, out_sharding, "ones_like")


def empty_like(
    prototype: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *,
    device: Any = None,
) -> Array:  # fmt: skip
    """Return zeros with the shape and dtype of `prototype`, unless given."""
    return zeros_like(prototype, dtype, shape, device=device)


def full_like(
    a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *,
    device: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return an array filled with a value, with the shape and dtype of `a`, unless given."""
    out_sharding = out_sharding or _sharding_like(a, shape, device)
    shape, dtype, weak = _like(a, dtype, shape, "full_like")
    if weak and type(fill_value) in PYTHON_SCALARS:
        if type(fill_value) is complex and dtype.kind != "c":
            raise refused_complex("full_like", fill_value, dtype)
        fill_value = {"i": int, "f": float, "c": complex}[dtype.kind](fill_value)
        dtype = None  # a Python scalar alone stays weak
    out = full(shape, fill_value, dtype, device=device, out_sharding=out_sharding)
    return _varying_like(out, a)
