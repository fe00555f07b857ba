"""Arrays from Python and NumPy values, and arrays filled by a rule."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import (
    Array,
    ArrayImpl,
    dtypes,
    is_evaluating,
    is_value,
    recording_trace,
    tree,
    typeof,
)
from tans_core.dtype_queries import iinfo, issubdtype
from tans_core.promotion import result_type
from tans_core.types import ShapedArray
from tans_numpy.dims import sizes_of
from tans_numpy.operands import (
    PYTHON_SCALARS,
    check_arraylike,
    promote_dtypes,
)
from tans_xla import device_put
from tans_xla.sizes import is_symbolic
from tans_xla.transfer.place import put_numpy

type ArrayLike = Any
type DTypeLike = Any
type Shape = int | Sequence[int]

_NO_NUMBERS: Final = "OUSMm"  # kinds of NumPy dtypes


def requested_dtype(dtype: DTypeLike, where: str) -> Any:
    """Return the dtype for an explicit request, narrowed (with a warning) while x64 is off."""
    return dtypes.requested(dtype, where, stacklevel=4)


# ---- from values ------------------------------------------------------------------------------


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Make an array.

    Args:
      object: array, scalar, or nested lists and tuples of these.
      dtype: dtype of the result; by default that of `object`. A Python scalar without `dtype`
        gives a weakly typed array.
      copy: whether the result must not share memory with `object`.
      order: only "K" (the default) is meaningful; arrays have no memory order.
      ndmin: number of dimensions of the result at least; dimensions of size 1 are put in front.
      device: device or sharding to put the array on.
      out_sharding: likewise, for explicit sharding.

    Raises:
      TypeError: `object` holds something that is not a number.
      ValueError: `object` is None or ragged.
      OverflowError: a Python integer does not fit.

    Example:
      >>> array([1, 2, 3])
      Array([1, 2, 3], dtype=int32)
    """
    if order not in (None, "K"):
        raise NotImplementedError(
            f"array: given order={order!r}, expected 'K' or None: arrays have no memory order. "
            "Transpose explicitly where the order of dimensions matters."
        )
    out = _convert(object, dtype, copy, "array")
    if out.ndim < ndmin:
        out = lax.reshape(out, (1,) * (ndmin - out.ndim) + out.shape)
    where = out_sharding if device is None else device
    return out if where is None else device_put(out, where)


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return `a` as an array, without a copy where it is one already.

    Args:
      a: array, scalar, or nested lists and tuples of these.
      dtype: dtype of the result; by default that of `a`.
      order: only "K" and None are meaningful.
      copy: True forces a copy; False and None copy what is no array, or of another dtype.
      device: device or sharding to put the array on.
      out_sharding: likewise, for explicit sharding.
    """
    if type(a) is np.ndarray and dtype is None and device is None and is_evaluating():
        return put_numpy(a)
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """Return a copy of `a` as an array.

    Args:
      a: any shape.
      order: only "K" and None are meaningful.
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


def _convert(x: Any, dtype: Any, copy: bool, where: str) -> Any:
    if dtype is not None:
        dtype = requested_dtype(dtype, where)
    if isinstance(x, Array):
        return _convert_array(x, dtype, copy)
    kind = type(x)
    if kind in PYTHON_SCALARS:
        return _from_scalar(x, dtype)
    if hasattr(kind, "__jax_array__"):
        return _convert_array(x.__jax_array__(), dtype, copy)
    if isinstance(x, list | tuple):
        return _from_sequence(x, dtype, where)
    if isinstance(x, np.ndarray | np.generic):
        _check_no_mask(x)
        return _from_numpy(np.asarray(x), dtype, where)
    return _from_other(x, dtype, where)


def _convert_array(x: Any, dtype: Any, copy: bool) -> Any:
    aval = typeof(x)
    if dtype is not None and (aval.dtype != dtype or aval.weak_type):
        return lax.convert_element_type(x, dtype)
    if copy and type(x) is ArrayImpl and is_evaluating():
        return lax.copy_p.bind(x)
    return x


def _from_scalar(x: complex, dtype: Any) -> Any:
    weak = dtype is None and type(x) is not bool
    if dtype is None:
        dtype = typeof(x).dtype
    if type(x) is int and dtype.kind in "iu":
        _check_fits(x, dtype)
    with np.errstate(over="ignore"):  # beyond the range is inf, as in arithmetic
        value = np.asarray(x, dtype) if dtype.kind != "c" else np.asarray(x).astype(dtype)
    return _place(value, weak)


def _check_fits(x: int, dtype: Any) -> None:
    info = iinfo(dtype)
    if not info.min <= x <= info.max:
        raise OverflowError(
            f"array: given the Python integer {x}, expected {info.min} to {info.max} for {dtype}. "
            "Choose a wider dtype; for 64 bits enable x64."
        )


def _place(value: np.ndarray, weak: bool = False) -> Any:
    """Put host data on the default device, or into the program that is being recorded."""
    trace = recording_trace()
    if trace is not None and not value.shape:
        aval = ShapedArray((), dtypes.canonicalize(value.dtype), weak)
        return trace.literal(value.astype(aval.dtype)[()], aval)
    return put_numpy(value, weak_type=weak)


def _from_sequence(x: Any, dtype: Any, where: str) -> Any:
    leaves = tree.leaves(x, is_leaf=lambda v: v is None)
    if any(v is None for v in leaves):
        raise ValueError(
            f"{where}: given a sequence that holds None, expected numbers. Replace None by nan or "
            "leave the entry out."
        )
    for v in leaves:
        if isinstance(v, np.ndarray):
            _check_no_mask(v)
    if dtype is not None and dtype.kind not in "cb" and any(type(v) is complex for v in leaves):
        raise refused_complex(where, next(v for v in leaves if type(v) is complex), dtype)
    if not any(isinstance(v, Array) or hasattr(type(v), "__jax_array__") for v in leaves):
        values = np.array(x) if leaves else np.array(x, np.float32)
        if values.dtype == object and all(map(is_value, leaves)):
            values = np.array(x, _joined(leaves))  # NumPy joins no small dtypes with others
        if values.dtype.kind in "iu" and all(type(v) in (int, bool) for v in leaves):
            return _from_python_ints(values, dtype)
        if dtype is None and all(type(v) in PYTHON_SCALARS for v in leaves):
            dtype = {"f": dtypes.default_float, "c": dtypes.default_complex}.get(
                values.dtype.kind, lambda: None
            )()
        elif dtype is None and values.dtype.kind not in _NO_NUMBERS:
            dtype = _joined(leaves)
        if values.dtype.kind == "f" and dtype is not None and issubdtype(dtype, np.integer):
            _check_finite(values, dtype, where)
        return _from_numpy(values, dtype, where)
    if dtype is None and not any(dtypes.is_extended(typeof(v).dtype) for v in leaves):
        dtype = _joined(leaves)
    parts = [_convert(v, dtype, False, where) for v in x]
    return _stack(parts, dtype)


def _joined(leaves: Sequence[Any]) -> Any:
    """Return the dtype of a sequence of numbers, some of which have a dtype of their own."""
    kinds: dict[Any, Any] = {}
    for v in leaves:
        kinds.setdefault((type(v), getattr(v, "dtype", None), getattr(v, "weak_type", None)), v)
    dtype = dtypes.canonicalize(result_type(*kinds.values()))
    if issubdtype(dtype, np.integer):
        for v in leaves:
            if type(v) is int:
                _check_fits(v, dtype)
    return dtype


def refused_complex(where: str, value: complex, dtype: Any) -> TypeError:
    """Return the error for a complex Python number where real ones are asked for."""
    return TypeError(
        f"{where}: given {value} for {dtype}, expected a real number. Take its real part, or a "
        "complex dtype."
    )


def _check_finite(values: np.ndarray, dtype: Any, where: str) -> None:
    if not np.isfinite(values).all():
        raise ValueError(
            f"{where}: given nan or infinity for {dtype}, expected finite numbers. Leave out "
            "dtype, or replace them first."
        )


def _check_no_mask(x: Any) -> None:
    """Raise if a NumPy array has a mask that hides something: arrays here would drop it."""
    if hasattr(x, "filled") and np.any(x.mask):
        typeof(x)


def _from_python_ints(values: np.ndarray, dtype: Any) -> Any:
    target = dtypes.default_int() if dtype is None else dtype
    if values.size and target.kind in "iu":
        _check_fits(int(values.min()), target)
        _check_fits(int(values.max()), target)
    return _place(values.astype(target))


def _stack(parts: list[Any], dtype: Any) -> Any:
    parts = promote_dtypes("array", *parts)
    _check_one_shape(parts)
    out = lax.concatenate([lax.expand_dims(p, (0,)) for p in parts], 0)
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _check_one_shape(parts: list[Any]) -> None:
    shapes = sorted({typeof(p).shape for p in parts})
    if len(shapes) > 1:
        raise ValueError(
            f"array: given a sequence of arrays with the shapes {shapes}, expected one shape. "
            "Broadcast them first, or use concatenate."
        )


def _from_numpy(x: np.ndarray, dtype: Any, where: str) -> Any:
    if x.dtype.kind in _NO_NUMBERS:
        raise TypeError(
            f"{where}: given values of dtype {x.dtype}, expected numbers. Convert them first, for "
            "example with np.asarray(x, float)."
        )
    if dtype is not None and x.dtype != dtype:
        with np.errstate(over="ignore"):
            x = x.astype(dtype)
    return _place(x)


def _from_other(x: Any, dtype: Any, where: str) -> Any:
    if x is None:
        raise ValueError(
            f"{where}: given None, expected an array or a scalar. Use jnp.nan for a missing value."
        )
    if isinstance(x, range):
        return _from_sequence(list(x), dtype, where)
    if hasattr(x, "__array__") or isinstance(x, memoryview | bytearray | bytes):
        return _from_numpy(np.asarray(x), dtype, where)
    if hasattr(x, "__dlpack__"):
        return _from_numpy(np.from_dlpack(x), dtype, where)
    check_arraylike(where, x)
    return _from_numpy(np.asarray(x), dtype, where)


def as_shape(shape: Shape, where: str) -> tuple[int, ...]:
    """Return a shape as a tuple of ints.

    Raises:
      TypeError: a size is not an integer, or negative.
    """
    try:
        out = tuple(size if is_symbolic(size) else size.__index__() for size in sizes_of(shape))
    except AttributeError:
        raise TypeError(
            f"{where}: given the shape {shape!r}, expected integers. Convert sizes with int(n)."
        ) from None
    if any(size < 0 for size in out):
        raise TypeError(f"{where}: given the shape {out}, expected sizes of at least 0.")
    return out
