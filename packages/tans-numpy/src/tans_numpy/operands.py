"""What NumPy-level functions do with their operands: check, promote, broadcast.

This is on the path of every call while a program is traced, so the common cases (tracers and Python
scalars of a matching dtype) are decided without building anything.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Array, ArrayImpl, JaxprTracer, dtypes, is_value, typeof
from tans_core.config import enable_x64, numpy_rank_promotion
from tans_core.dtype_queries import issubdtype
from tans_core.errors import (
    ConcretizationTypeError,
    TracerIntegerConversionError,
    TypePromotionError,
)
from tans_core.promotion import join
from tans_lax.conversion import as_type
from tans_numpy.refusals import check_numbers, not_numbers
from tans_xla.sizes import shown

type Value = Any  # an array, a tracer, a NumPy array or scalar, or a Python scalar
type ArrayLike = Any

PYTHON_SCALARS: Final = frozenset((bool, int, float, complex))
_FAST: Final = frozenset((ArrayImpl, JaxprTracer))


def check_arraylike(name: str, *args: Value) -> None:
    """Raise if an argument is not an array or scalar.

    Raises:
      TypeError: naming the function, the position and the remedy.
    """
    for i, x in enumerate(args):
        kind = type(x)
        if kind in _FAST or kind in PYTHON_SCALARS or is_value(x):
            continue
        raise TypeError(
            f"{name}: argument {i} is {shown(x)} of type {kind.__name__}; expected an array or a "
            "scalar. Convert it first: jnp.asarray(x)."
        )


def as_value(x: Value) -> Value:
    """Return `x`, or the array that it stands for (``__jax_array__``)."""
    kind = type(x)
    if kind in _FAST or kind in PYTHON_SCALARS or isinstance(x, Array | np.ndarray | np.generic):
        return x
    return x.__jax_array__() if hasattr(kind, "__jax_array__") else x


def dtype_and_weak(x: Value) -> tuple[Any, bool]:
    """Return the (dtype, weak flag) of a value."""
    aval = typeof(x)
    return aval.dtype, aval.weak_type


def promote(name: str, *args: Value) -> list[Value]:
    """Return operands of one dtype whose shapes broadcast (rank 0 or equal ranks).

    Args:
      name: the function, for messages.
      args: arrays of any shapes that broadcast, and scalars.

    Raises:
      TypeError: an operand is not an array or scalar.
      ValueError: the shapes do not broadcast.
      TypePromotionError: the dtypes have no common type.
    """
    if len(args) == 2:
        x, y = args
        if type(x) in _FAST:
            if type(y) in _FAST:
                if x.aval is y.aval:
                    return [x, y]
            elif _adopts(x.aval, y):
                return [x, typed_scalar(y, x.aval.dtype)]
        elif type(y) in _FAST and _adopts(y.aval, x):
            return [typed_scalar(x, y.aval.dtype), y]
    return _in_common(promote_dtypes, name, args)


def _in_common(
    promote_dtypes: Callable[..., list[Value]], name: str, args: Sequence[Value]
) -> list[Value]:
    """Return operands of one dtype, as `promote_dtypes` makes them, whose shapes broadcast."""
    try:
        return promote_shapes(name, *promote_dtypes(name, *args))
    except TypePromotionError:
        check_numbers(name, *args)
        raise


def _adopts(aval: Any, scalar: Value) -> bool:
    """Whether a Python number takes an array's type under every setting of promotion."""
    if aval.weak_type:
        return False
    kind = aval.dtype.kind
    if not (kind in "fiu" and type(scalar) is int) and (kind != "f" or type(scalar) is not float):
        return False
    return aval.dtype.itemsize < 8 or enable_x64.value  # what x64 has left behind is narrowed


def _same_type(args: Sequence[Value]) -> bool:
    """Whether two arrays have one type (types are interned), which leaves nothing to promote."""
    if len(args) != 2 or type(args[0]) not in _FAST or type(args[1]) not in _FAST:
        return False
    return args[0].aval is args[1].aval


def promote_dtypes(name: str, *args: Value) -> list[Value]:
    """Return the operands converted to their common dtype."""
    if _same_type(args):
        return list(args)
    kinds = _kinds(name, args)
    dtype, weak = join(*kinds)
    return [cast(x, k, dtype, weak) for x, k in zip(args, kinds, strict=True)]


def promote_inexact(name: str, *args: Value) -> list[Value]:
    """Return the operands in a common floating-point or complex dtype, shapes broadcast."""
    first = args[0]
    is_inexact = type(first) in _FAST and first.aval.dtype.kind in "fc"
    if is_inexact and (len(args) == 1 or _same_type(args)):
        return list(args)
    return _in_common(promote_dtypes_inexact, name, args)


def promote_dtypes_inexact(name: str, *args: Value) -> list[Value]:
    """Return the operands converted to their common dtype, made inexact."""
    kinds = _kinds(name, args)
    dtype, weak = join(*kinds)
    if not dtypes.is_inexact(dtype):
        check_numbers(name, *args)
        dtype = to_inexact(dtype)
    return [cast(x, k, dtype, weak) for x, k in zip(args, kinds, strict=True)]


def is_discrete(dtype: Any) -> bool:
    """Whether a dtype is one of booleans or integers, those of a few bits among them."""
    return dtype == np.bool_ or issubdtype(dtype, np.integer)


def to_inexact(dtype: Any) -> Any:
    """Return the dtype that floating-point functions have for operands of `dtype`."""
    if dtypes.is_inexact(dtype):
        return dtype
    if dtypes.is_extended(dtype):
        raise not_numbers(dtype)
    wide = dtype.itemsize == 8 and dtype.kind in "iu"
    return dtypes.canonicalize(np.dtype(np.float64 if wide else np.float32))


def _kinds(name: str, args: Sequence[Value]) -> list[tuple[Any, bool]]:
    kinds = []
    for x in args:
        if type(x) in _FAST:
            aval = x.aval
        else:
            if not is_value(x):
                check_arraylike(name, *args)
            aval = typeof(x)
        kinds.append((aval.dtype, aval.weak_type))
    return kinds


def cast(x: Value, kind: tuple[Any, bool], dtype: Any, weak: bool) -> Value:
    """Convert one operand of (dtype, weak) `kind`; the result is weak where `weak` is.

    A weak operand that has the dtype already stays: the type rule of the operation decides
    weakness from all operands.
    """
    cls = type(x)
    if cls in PYTHON_SCALARS:
        if kind[0] is dtype and weak:
            return x
        return weak_scalar(x, dtype) if weak else typed_scalar(x, dtype)
    if kind[0] == dtype:
        return as_value(x)
    if kind[0] == dtypes.float0:
        check_numbers("conversion", x)
    if weak:
        return lax.convert_element_type_p.bind(
            as_value(x), new_dtype=dtype, weak_type=True, sharding=None
        )
    return lax.convert_element_type(as_value(x), dtype)


def strong(x: Value) -> Value:
    """Return a value without its weak type."""
    aval = typeof(x)
    return lax.convert_element_type(x, aval.dtype) if aval.weak_type else x


def weak_as(x: Value, like: Value) -> Value:
    """Return a value with a weak type where `like`, which has its dtype, is weak."""
    weak = typeof(like).weak_type
    return as_type(x, typeof(x).dtype, True) if weak and not typeof(x).weak_type else x


_PYTHON_TYPE: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def weak_scalar(x: complex, dtype: Any) -> Value:
    """Return a Python scalar whose default dtype, which weak values always have, is `dtype`."""
    return _PYTHON_TYPE[dtype.kind](x)


def scalar_like(x: Value, value: complex) -> Value:
    """Return a number with the dtype of `x`, weak where `x` is: it changes no result type."""
    aval = typeof(x)
    if aval.weak_type:
        out = weak_scalar(value, aval.dtype)
        if typeof(out).dtype == aval.dtype:  # differs for values made under another x64 setting
            return out
    return typed_scalar(value, aval.dtype)


def typed_scalar(x: complex, dtype: Any) -> Value:
    """Return a Python scalar as a NumPy scalar of `dtype`.

    Integers wrap around in a narrow dtype, as NumPy's arrays do.

    Raises:
      OverflowError: neither `dtype` nor the default integer dtype holds the integer.
      TypeError: `dtype` is that of keys.
    """
    if dtypes.is_extended(dtype):
        raise not_numbers(dtype)
    try:
        return dtype.type(x)
    except OverflowError:
        info = np.iinfo(dtypes.default_int())
        if not info.min <= x <= info.max:  # pyright: ignore[reportOperatorIssue]
            raise OverflowError(
                f"given the Python integer {x} to convert to {dtype}; expected {info.min} to "
                f"{info.max}. Give it a dtype that holds it, or enable x64."
            ) from None
        return np.asarray(x).astype(dtype)[()]
    except TypeError:  # complex to real: the promotion never asks for it, except with float0
        return np.asarray(x).astype(dtype)[()]


def scalar_of(x: complex, dtype: Any) -> Value:
    """Return a Python scalar as a scalar of `dtype`; all words of a key are the integer."""
    return lax.full((), x, dtype) if dtypes.is_extended(dtype) else typed_scalar(x, dtype)


def promote_shapes(name: str, *args: Value) -> list[Value]:
    """Give all operands that are not scalars the same rank.

    Leading dimensions of size 1 are added; the operations themselves repeat size-1 dimensions.

    Raises:
      TypeError: the shapes have one rank and do not broadcast.
      ValueError: shapes of different ranks do not broadcast.
    """
    shape: tuple[int, ...] = ()
    mixed = False
    for x in args:
        own = x.aval.shape if type(x) in _FAST else typeof(x).shape
        if own and own != shape:
            mixed = mixed or shape != ()
            shape = own
    return _aligned(name, args) if mixed else list(args)


def _aligned(name: str, args: Sequence[Value]) -> list[Value]:
    shapes = [typeof(x).shape for x in args]
    rank = len(common_shape(name, *shapes))
    if any(0 < len(shape) < rank for shape in shapes):
        _check_rank_promotion(name, args)
    out = []
    for x, shape in zip(args, shapes, strict=True):
        n = len(shape)
        if 0 < n < rank:
            dims = (1,) * (rank - n) + shape
            out.append(lax.broadcast_in_dim(x, dims, tuple(range(rank - n, rank))))
        else:
            out.append(x)
    return out


def _check_rank_promotion(name: str, args: Sequence[Value]) -> None:
    mode = numpy_rank_promotion.value
    if mode == "allow":
        return
    shapes = [tuple(np.shape(x)) for x in args]
    text = (
        f"{name}: operands of different rank are broadcast: shapes {shapes}; "
        "expected equal ranks because jax_numpy_rank_promotion is set. Add dimensions with "
        "jnp.expand_dims or x[None], or set the flag to 'allow'."
    )
    if mode == "raise":
        raise ValueError(text)
    warnings.warn(text, stacklevel=4)


def common_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the results of elementwise functions, as `broadcast_shapes`.

    Raises:
      TypeError: the shapes have one rank and do not broadcast.
      ValueError: shapes of different ranks do not broadcast.
    """
    try:
        return broadcast_shapes(name, *shapes)
    except ValueError as error:
        # Operands that need no new dimensions are refused by the operation itself, as lax does.
        if len({len(shape) for shape in shapes if shape}) == 1:
            raise TypeError(*error.args) from None
        raise


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that NumPy's rules give for operands of these shapes.

    Raises:
      ValueError: they do not broadcast; the text lists all shapes.
    """
    if len(shapes) == 1:
        return tuple(shapes[0])
    first = shapes[0]
    if all(s == first for s in shapes):
        return tuple(first)
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    out = []
    for sizes in zip(*padded, strict=True):
        different = {n for n in sizes if n != 1}
        if len(different) > 1:
            raise ValueError(
                f"{name}: given the shapes {', '.join(map(str, shapes))}, which do not broadcast; "
                "expected sizes that are equal or 1, counted from the last dimension. Reshape an "
                "operand, or add dimensions with x[None]."
            )
        out.append(different.pop() if different else 1)
    return tuple(out)


def canonicalize_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """Return a non-negative axis.

    Raises:
      ValueError: the axis is out of range.
    """
    try:
        index = axis.__index__()
    except AttributeError:
        raise TypeError(f"{name}: given axis={axis!r}, expected an integer.") from None
    except TracerIntegerConversionError:
        raise ConcretizationTypeError(
            axis, f"The axis of {name} must be known while the function is traced."
        ) from None
    if not -ndim <= index < ndim:
        # Both a ValueError and an IndexError.
        raise np.exceptions.AxisError(
            f"{name}: given axis {axis} for an array with {ndim} dimensions; expected "
            + (f"{-ndim} to {ndim - 1}." if ndim else "at least one dimension. Reshape it to (1,).")
        )
    return index + ndim if index < 0 else index


def canonicalize_axes(axis: Any, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return non-negative axes; None means all.

    Raises:
      ValueError: an axis is out of range or given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple | list):
        return (canonicalize_axis(axis, ndim, name),)
    axes = tuple(canonicalize_axis(a, ndim, name) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"{name}: given axes {axis}, expected each axis once. Drop the duplicates."
        )
    return axes
