"""Evenly spaced numbers and grids: arange, linspace, meshgrid and relatives."""

import math
import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.dtype_queries import iinfo
from tans_core.errors import ConcretizationTypeError
from tans_core.promotion import result_type
from tans_lax.sizes import size_value
from tans_numpy.creation import as_shape, asarray, requested_dtype
from tans_numpy.dims import diagonal_offset, repeat_to
from tans_numpy.manipulation import broadcast_arrays, moveaxis
from tans_numpy.operands import ArrayLike, check_arraylike, to_inexact
from tans_numpy.ufuncs.exponential import log10
from tans_numpy.ufuncs.powers import power
from tans_xla import composite, device_put
from tans_xla.sizes import (
    Size,
    as_size,
    has_symbolic,
    is_always_at_least,
    is_symbolic,
    max_size,
)
from tans_xla.transfer.place import put_numpy

type Array = Any


def _concrete(x: Any, name: str, option: str) -> Any:
    if isinstance(x, Tracer) and x.concrete() is None:
        raise ConcretizationTypeError(
            x,
            f"The {option} of {name} decides the shape of the result, which must be known while "
            "the function is traced.",
        )
    return x


def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return numbers from `start` up to but without `stop`.

    Args:
      start: first number; with one argument, the end, and 0 is the first.
      stop: end, not included.
      step: distance; 1 by default.
      dtype: dtype of the result; that of the arguments if None.
      device: device or sharding to put the array on.
      out_sharding: likewise.

    Raises:
      ConcretizationTypeError: an argument is traced.
      OverflowError: a number does not fit the dtype.
      TypeError: no number at all, booleans, or a symbolic dimension together with numbers that are
        no ints.
      ZeroDivisionError: a step of 0.

    Example:
      >>> arange(2, 6, 2)
      Array([2, 4], dtype=int32)
    """
    if has_symbolic((start, stop, step)):
        out = _symbolic_arange(start, stop, step, dtype)
        where = out_sharding if device is None else device
        return out if where is None else device_put(out, where)
    for option, x in (("start", start), ("stop", stop), ("step", step)):
        if x is not None:
            check_arraylike("arange", x)
            _concrete(x, "arange", option)
    given = [x for x in (start, stop, step) if x is not None]
    if start is None and stop is None:
        raise TypeError("arange: given start=None and no stop, expected a number. Pass stop=.")
    if dtype is None:
        target = dtypes.canonicalize(result_type(*given))
    else:
        target = requested_dtype(dtype, "arange")
    if target == np.bool_:
        raise TypeError("arange: given booleans, expected numbers. Compare a range with one.")
    start, stop, step = (
        None if x is None else x if type(x) in (int, float) else np.asarray(x)[()]
        for x in (start, stop, step)
    )
    if stop is None:
        start, stop = type(start)(0), start
    step = 1 if step is None else step
    if any(isinstance(x, complex | np.complexfloating) for x in (start, stop, step)):
        raise ValueError(
            "arange: given complex numbers, expected real ones: they have no order. Combine two "
            "ranges."
        )
    if step == 0:
        raise ZeroDivisionError("arange: given step=0, expected a number that differs from 0.")
    length = max(0, math.ceil((stop - start) / step))
    out = _arange(start, step, length, target)
    where = out_sharding if device is None else device
    return out if where is None else device_put(out, where)


def _symbolic_arange(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """Count between symbolic dimensions, by a constant step."""
    start, stop = (0, start) if stop is None else (start, stop)
    start, step = 0 if start is None else start, 1 if step is None else step
    if (
        type(step) is not int
        or step == 0
        or not all(type(x) is int or is_symbolic(x) for x in (start, stop))
    ):
        raise TypeError(
            f"arange: given start={start}, stop={stop} and step={step!r}, expected ints besides "
            "symbolic dimensions, and a step that is a constant int other than 0. Make a range of "
            "ints, and multiply it."
        )
    distance = stop - start if step > 0 else start - stop
    length = max_size((distance + abs(step) - 1) // abs(step), 0)
    target = requested_dtype(int if dtype is None else dtype, "arange")
    out = lax.iota(target, length)
    out = out if step == 1 else lax.mul(out, lax.full_like(out, step))
    if isinstance(start, int) and start == 0:
        return out
    return lax.add(out, lax.broadcast(size_value(start, target), (length,)))


def _arange(start: Any, step: Any, length: int, dtype: Any) -> Array:
    if dtype.kind in "iu" and length:
        _check_range(start, start + step * (length - 1), dtype)
    if start == 0 and step == 1 and dtype.kind in "iuf" and dtype.type.__module__ == "numpy":
        return _iota(length=length, dtype=dtype)
    values = np.arange(length) * np.asarray(step) + np.asarray(start)
    return _host_constant(values.astype(dtype))


def _check_range(first: Any, last: Any, dtype: Any) -> None:
    info = iinfo(dtype)
    for x in (first, last):
        if not info.min <= x <= info.max:
            raise OverflowError(
                f"arange: given numbers up to {x}, expected {info.min} to {info.max} for {dtype}. "
                "Choose a wider dtype; for 64 bits enable x64."
            )


def _host_constant(values: np.ndarray) -> Array:
    return put_numpy(values)


@composite(static_argnames=("length", "dtype"))
def _iota(*, length: int, dtype: Any) -> Array:
    return lax.iota(dtype, length)


def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return evenly spaced numbers over an interval.

    Args:
      start: first number, any shape.
      stop: last number, a shape that broadcasts with that of `start`.
      num: static number of samples.
      endpoint: whether `stop` is the last sample.
      retstep: also return the distance.
      dtype: dtype of the result; floating by default.
      axis: position of the new dimension.
      device: device or sharding to put the array on.

    Raises:
      ValueError: `num` is negative.
    """
    out = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    if device is None:
        return out
    return (device_put(out[0], device), out[1]) if retstep else device_put(out, device)


@composite(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    num, axis = as_size(_concrete(num, "linspace", "num")), operator.index(axis)
    if num < 0:
        raise ValueError(f"linspace: given num={num}, expected at least 0.")
    check_arraylike("linspace", start, stop)
    dtype = None if dtype is None else requested_dtype(dtype, "linspace")
    computation = to_inexact(result_type(start, stop))
    start, stop = (
        computation.type(v) if type(v) in (int, float) else lax.convert_element_type(v, computation)
        for v in (start, stop)
    )
    start, stop = broadcast_arrays(start, stop)
    divisor = num - 1 if endpoint else num
    delta = lax.sub(stop, start)
    if num == 0:
        out = lax.full((0, *typeof(start).shape), 0, computation)
        step = lax.full_like(delta, np.nan)
    elif is_always_at_least(0, divisor):
        out, step = lax.expand_dims(start, (0,)), lax.full_like(delta, np.nan)
    else:
        # A symbolic number of samples may be 1: then there is no distance.
        count = max_size(divisor, 1)
        step = lax.div(delta, size_value(count, computation))
        out = _blend(start, stop, step, num, count, endpoint)
        if count != divisor:
            positive = lax.gt(size_value(divisor, np.int32), np.int32(0))
            step = lax.select(positive, step, lax.full_like(step, np.nan))
    out = moveaxis(out, 0, axis) if axis else out
    if dtype is not None and typeof(out).dtype != dtype:
        if dtype.kind in "iu":
            out = lax.floor(out)
        out = lax.convert_element_type(out, dtype)
    return (out, step) if retstep else out


def _blend(start: Any, stop: Any, step: Any, num: Size, divisor: Size, endpoint: bool) -> Array:
    """Count steps from the nearer end; whole steps come out exactly."""
    dtype, dims = typeof(step).dtype, typeof(step).shape
    real = np.dtype(dtype.type(0).real.dtype)
    index = lax.broadcasted_iota(real, (num, *dims), 0) if dims else lax.iota(real, num)
    last = size_value(divisor, real)
    half = lax.mul(last, real.type(0.5)) if is_symbolic(divisor) else real.type(divisor / 2)
    near = lax.le(index, half)
    count = lax.select(near, index, lax.sub(index, last))
    count = lax.convert_element_type(count, dtype) if real != dtype else count
    stop = lax.broadcast(stop, (num,))
    origin = lax.select(near, lax.broadcast(start, (num,)), stop)
    out = lax.add(origin, lax.mul(count, lax.broadcast(step, (num,))))
    if not endpoint:
        return out
    return lax.select(lax.eq(index, last), stop, out)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def logspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Array:  # fmt: skip
    """Return ``base ** linspace(start, stop)``; see `linspace`."""
    out = power(asarray(base), linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else out.astype(dtype)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: Any = None,
    axis: int = 0,
) -> Array:  # fmt: skip
    """Return numbers with a constant ratio over an interval; see `linspace`."""
    start, stop = asarray(start), asarray(stop)
    sign = (1 - 2 * ((start < 0) & (stop < 0))).astype(to_inexact(start.dtype))
    out = logspace(log10(start * sign), log10(stop * sign), num, endpoint, 10.0, None, 0) * sign
    if num > 0:
        out = out.at[0].set(start)
        if endpoint and num > 1:
            out = out.at[-1].set(stop)
    if not np.iscomplexobj(out):
        # No ratio leads to 0 or to another sign.
        out = lax.select(repeat_to(start * stop > 0, out.shape), out, lax.full_like(out, np.nan))
    out = moveaxis(out, 0, axis) if axis else out
    return out if dtype is None else out.astype(dtype)


@composite(static_argnames=("shape", "k", "dtype"))
def _eye(*, shape: tuple[int, int], k: int, dtype: Any) -> Array:
    rows = lax.broadcasted_iota(np.dtype(np.int32), shape, 0)
    columns = lax.broadcasted_iota(np.dtype(np.int32), shape, 1)
    return lax.convert_element_type(lax.eq(lax.add(rows, np.int32(k)), columns), dtype)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None,
) -> Array:  # fmt: skip
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N: number of rows.
      M: number of columns; `N` if None.
      k: which diagonal; positive is above the main one.
      dtype: dtype; the default float if None.
      device: device or sharding to put the array on.
    """
    shape = tuple(map(as_size, (N, N if M is None else M)))
    if any(n < 0 for n in shape):
        raise ValueError(f"eye: given the shape {shape}, expected sizes of at least 0.")
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, "eye")
    try:
        k = diagonal_offset(_concrete(k, "eye", "k"))
    except TypeError:
        raise ValueError(f"eye: given k={k!r}, expected an integer. Round it first.") from None
    out = _eye(shape=shape, k=k, dtype=target)
    return out if device is None else device_put(out, device)


def identity(n: int, dtype: Any = None) -> Array:
    """Return the identity matrix of size `n`."""
    return eye(n, dtype=dtype)


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Return coordinate arrays of a grid.

    Args:
      *xi: vectors or scalars, the coordinates along each dimension.
      copy: must be True; arrays are never views.
      sparse: return arrays with size 1 in all dimensions but their own.
      indexing: "xy" (the first two dimensions are swapped) or "ij".
    """
    check_arraylike("meshgrid", *xi)
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: given indexing={indexing!r}, expected 'xy' or 'ij'.")
    if not copy:
        raise ValueError("meshgrid: given copy=False, expected True: arrays are never views.")
    if any(typeof(x).ndim > 1 for x in xi):
        raise ValueError("meshgrid: given an array with several dimensions, expected vectors.")
    n = len(xi)
    # Coordinates of the first two dimensions change places for "xy".
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[:2] = (1, 0)
    sizes = [typeof(x).size for x in xi]
    dims = tuple(sizes[places.index(k)] for k in range(n))
    return tuple(
        _along(x, dims=tuple(m if k == place or not sparse else 1 for k, m in enumerate(dims)),
               axis=place)
        for x, place in zip(xi, places, strict=True)
    )  # fmt: skip


@composite(static_argnames=("dims", "axis"))
def _along(x: Any, *, dims: tuple[int, ...], axis: int) -> Array:
    """Repeat a vector or scalar to a shape, its elements along one dimension."""
    if not typeof(x).ndim:
        return lax.broadcast_in_dim(x, dims, ())
    return lax.broadcast_in_dim(x, dims, (axis,))


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """Return the index of each element of an array with the shape `dimensions`."""
    dims = as_shape(dimensions, "indices")
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, "indices")
    return _indices(dims=dims, dtype=target, sparse=bool(sparse))


@composite(static_argnames=("dims", "dtype", "sparse"))
def _indices(*, dims: tuple[int, ...], dtype: Any, sparse: bool) -> Any:
    if not dims:
        return () if sparse else lax.full((0,), 0, dtype)
    grids = []
    for axis, n in enumerate(dims):
        shape = tuple(n if k == axis else 1 for k in range(len(dims))) if sparse else dims
        grids.append(lax.broadcasted_iota(dtype, shape, axis))
    return tuple(grids) if sparse else lax.stack(grids, 0)
