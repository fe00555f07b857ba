"""Shapes and order: reshape, transpose, move, broadcast."""

import builtins
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import ArrayImpl, is_value, typeof
from tans_core.errors import InconclusiveDimensionOperation
from tans_lax.mesh import reshard_array
from tans_numpy.creation import as_shape, asarray
from tans_numpy.dims import sizes_of
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
)
from tans_numpy.operands import broadcast_shapes as _broadcast_shapes
from tans_xla import composite
from tans_xla.sizes import as_size, is_symbolic

type Array = Any


def _converted(name: str, a: Any) -> np.ndarray:
    """Convert a list or another value to a NumPy array, with a warning."""
    warnings.warn(
        f"{name}: given a {type(a).__name__}, expected an array or a scalar. Convert it first: "
        "jnp.asarray(x). This will become an error.",
        DeprecationWarning,
        stacklevel=3,
    )
    return np.asarray(a)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the shape of an array."""
    if type(a) is ArrayImpl:
        return a.shape
    return typeof(a).shape if is_value(a) else np.shape(_converted("shape", a))


def ndim(a: ArrayLike) -> int:
    """Return the number of dimensions of an array."""
    if type(a) is ArrayImpl:
        return a.ndim
    return typeof(a).ndim if is_value(a) else np.ndim(_converted("ndim", a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, in all or along some dimensions."""
    dims = typeof(a).shape if is_value(a) else np.shape(_converted("size", a))
    return math.prod([dims[i] for i in canonicalize_axes(axis, len(dims), "size")])


@composite(static_argnames=("shape", "order", "copy", "out_sharding"))
def _reshape(
    a: Array,
    shape: tuple[int, ...],
    *,
    order: str = "C",
    copy: Any = None,
    out_sharding: Any = None,
) -> Array:
    if order == "C":
        return lax.reshape(a, shape, out_sharding=out_sharding)
    flipped = lax.reshape(_reversed(a), shape[::-1])
    return _reversed(flipped)


def _reversed(a: Array) -> Array:
    return lax.transpose(a, tuple(range(typeof(a).ndim))[::-1])


def resolve_shape(sizes: Any, num_elements: int, where: str) -> tuple[int, ...]:
    """Return a shape in which one -1 is replaced by what remains.

    Raises:
      TypeError: sizes are not integers, two unknown sizes, or another number of elements.
    """
    try:
        dims = tuple(map(as_size, sizes_of(sizes)))
    except TypeError:
        raise TypeError(
            f"{where}: given the shape {sizes!r}, expected integers. Shapes must be known while "
            "the function is traced: use x.shape, or static arguments."
        ) from None
    unknown = [i for i, n in enumerate(dims) if n == -1]
    if builtins.len(unknown) > 1 or any(type(n) is int and n < -1 for n in dims):
        raise TypeError(f"{where}: given the shape {dims}, expected sizes and at most one -1.")
    known = math.prod([n for n in dims if n != -1])
    if unknown:
        rest = num_elements % known if known else 1
        if is_symbolic(rest):
            raise InconclusiveDimensionOperation(
                f"{_cannot_reshape(where, num_elements, dims)} It has for some sizes only: the "
                f"remainder is {rest}. Add a constraint, such as constraints=['{rest} == 0']."
            )
        if rest:
            raise TypeError(_cannot_reshape(where, num_elements, dims))
        dims = (*dims[: unknown[0]], num_elements // known, *dims[unknown[0] + 1 :])
    elif known != num_elements:
        raise TypeError(_cannot_reshape(where, num_elements, dims))
    return dims


def _cannot_reshape(where: str, num_elements: int, dims: tuple[int, ...]) -> str:
    return (
        f"{where}: given an array with {num_elements} elements and the shape {dims}; expected a "
        "shape with as many elements. Use -1 for one size to have it computed."
    )


def reshape(
    a: ArrayLike,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """Return `a` with another shape.

    Args:
      a: any shape.
      shape: int or ints; one of them may be -1, which means what remains.
      order: "C" (last index fastest) or "F" (first index fastest).
      copy: whether an array that has the shape already is copied; results never share memory that
        can be written.
      out_sharding: sharding of the result in explicit mode.

    Example:
      >>> reshape(jnp.arange(6), (2, -1)).shape
      (2, 3)
    """
    check_arraylike("reshape", a)
    if order not in ("C", "F"):
        raise ValueError(f"reshape: given order={order!r}, expected 'C' or 'F'.")
    aval = typeof(a)
    dims = resolve_shape(shape, aval.size, "reshape")
    if out_sharding is None:
        if dims == aval.shape and type(a) is ArrayImpl and not copy:
            return a
        return _reshape(a, dims, order=order)
    if order != "C":
        return reshard_array(_reshape(a, dims, order=order), out_sharding)
    return _reshape(a, dims, order=order, out_sharding=out_sharding)


@composite(static_argnames=("order", "out_sharding"))
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """Return the elements of `a` in one dimension.

    Args:
      a: any shape.
      order: "C" or "F".
      out_sharding: sharding of the result in explicit mode.
    """
    if order not in ("C", "F"):
        raise NotImplementedError(
            f"ravel: given order={order!r}, expected 'C' or 'F': arrays have no other memory order."
        )
    return reshape(a, (-1,) if size(a) else (0,), order, out_sharding=out_sharding)


@composite(static_argnames=("axes",))
def _transpose(a: Array, *, axes: tuple[int, ...]) -> Array:
    return lax.transpose(a, axes)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Return `a` with its dimensions in another order.

    Args:
      a: any shape.
      axes: old position of each new dimension; reversed order if None.

    Raises:
      TypeError: `axes` does not name each dimension once.
      ValueError: an axis is out of range.
    """
    check_arraylike("transpose", a)
    n = typeof(a).ndim
    return _permuted("transpose", a, tuple(range(n))[::-1] if axes is None else tuple(axes))


def _permuted(name: str, a: ArrayLike, given: tuple[int, ...]) -> Array:
    n = typeof(a).ndim
    axes = tuple(canonicalize_axis(axis, n, name) for axis in given)
    if sorted(axes) != list(range(n)):
        raise TypeError(
            f"{name}: given axes {given} for an array with {n} dimensions, expected each once."
        )
    if n < 2 and type(a) is ArrayImpl:
        return a
    return _transpose(a, axes=axes)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Return `a` with its dimensions in another order; see `transpose`.

    Args:
      a: any shape.
      axes: old position of each new dimension.

    Raises:
      TypeError: `axes` does not name each dimension.
      ValueError: an axis is out of range, or named twice.
    """
    check_arraylike("permute_dims", a)
    if axes is None:
        raise TypeError("permute_dims: given axes=None, expected ints. Use transpose to reverse.")
    return _permuted("permute_dims", a, canonicalize_axes(axes, typeof(a).ndim, "permute_dims"))


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two dimensions.

    Args:
      x: [..., m, n].
    """
    if ndim(x) < 2:
        raise ValueError(
            f"matrix_transpose: given {ndim(x)} dimensions, expected at least 2. "
            "Use transpose for fewer."
        )
    return swapaxes(x, -1, -2)


@composite(static_argnames=("axis1", "axis2"))
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Swap two dimensions."""
    check_arraylike("swapaxes", a)
    axes = list(range(ndim(a)))
    i, j = (canonicalize_axis(axis, ndim(a), "swapaxes") for axis in (axis1, axis2))
    axes[i], axes[j] = axes[j], axes[i]
    return _transpose(a, axes=tuple(axes))


@composite(static_argnames=("source", "destination"))
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """Move dimensions to other positions; the others keep their order.

    Args:
      a: any shape.
      source: int or ints, present positions.
      destination: int or ints, new positions.
    """
    check_arraylike("moveaxis", a)
    n = ndim(a)
    start = canonicalize_axes(source, n, "moveaxis")
    end = canonicalize_axes(destination, n, "moveaxis")
    if builtins.len(start) != builtins.len(end):
        raise ValueError(
            f"moveaxis: given {builtins.len(start)} source and {builtins.len(end)} destination "
            "positions, expected as many of both."
        )
    axes = [i for i in range(n) if i not in start]
    for position, axis in sorted(zip(end, start, strict=True)):
        axes.insert(position, axis)
    return _transpose(a, axes=tuple(axes))


@composite(static_argnames=("axis", "start"))
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move one dimension in front of another position (use `moveaxis` in new code)."""
    n = ndim(a)
    i = canonicalize_axis(axis, n, "rollaxis")
    j = start + n if start < 0 else start
    return moveaxis(a, i, j - 1 if i < j else j)


@composite(static_argnames=("axis",))
def _expand_dims(a: Array, *, axis: tuple[int, ...]) -> Array:
    return lax.expand_dims(a, axis)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Add dimensions of size 1.

    Args:
      a: any shape.
      axis: int or ints, positions in the result.

    Raises:
      TypeError: an axis that is no integer.
      ValueError: an axis is out of range, or named twice.
    """
    check_arraylike("expand_dims", a)
    if axis is None:
        raise TypeError("expand_dims: given axis=None, expected ints. Write x[None] for axis 0.")
    count = 1 if not isinstance(axis, tuple | list) else builtins.len(axis)
    return _expand_dims(a, axis=canonicalize_axes(axis, ndim(a) + count, "expand_dims"))


@composite(static_argnames=("axis",))
def _squeeze(a: Array, *, axis: tuple[int, ...]) -> Array:
    return lax.squeeze(a, axis)


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Remove dimensions of size 1.

    Args:
      a: any shape.
      axis: int or ints, which to remove; all of size 1 if None.

    Raises:
      ValueError: a dimension has another size.
    """
    check_arraylike("squeeze", a)
    dims = shape(a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(dims) if n == 1)
    else:
        axes = canonicalize_axes(axis, builtins.len(dims), "squeeze")
    for i in axes:
        if dims[i] != 1:
            raise ValueError(
                f"squeeze: given axis {i} of an array with shape {dims}, expected a dimension of "
                "size 1. Use reshape to merge dimensions, or index to select."
            )
    return _squeeze(a, axis=axes)


@composite(static_argnames=("dims", "out_sharding"))
def _broadcast_to(a: Array, dims: tuple[int, ...], *, out_sharding: Any = None) -> Array:
    places = tuple(range(len(dims) - typeof(a).ndim, len(dims)))
    return lax.broadcast_in_dim(a, dims, places, out_sharding=out_sharding)


def broadcast_to(array: ArrayLike, shape: Any, *, out_sharding: Any = None) -> Array:
    """Repeat an array to a shape by NumPy's broadcasting rules.

    Args:
      array: shape whose sizes, from the last, are equal to those of `shape` or 1.
      shape: int or ints.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: the shapes do not fit.
    """
    check_arraylike("broadcast_to", array)
    dims = as_shape(shape, "broadcast_to")
    have = typeof(array).shape
    if have == dims and out_sharding is None:
        return asarray(array)
    fits = len(have) <= len(dims) and all(
        n in (1, m) for n, m in zip(have[::-1], dims[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"broadcast_to: given an array with shape {have} and the shape {dims}; expected sizes "
            "equal to those of the new shape or 1, counted from the last dimension."
        )
    return _broadcast_to(array, dims, out_sharding=out_sharding)


@composite
def _spread(arrays: list[ArrayLike]) -> list[Array | None]:
    """Return the arrays in their common shape; None for those that have it."""
    dims = _broadcast_shapes("broadcast_arrays", *(shape(a) for a in arrays))
    return [None if shape(a) == dims else broadcast_to(a, dims) for a in arrays]


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Repeat arrays to their common shape."""
    if not args:
        return ()
    made = _spread(list(args))
    return tuple([as_array(a) if b is None else b for a, b in zip(args, made, strict=True)])


def as_array(a: ArrayLike) -> Array:
    """Return `a`, which is an array, a tracer or a scalar, as one of the first two."""
    return a if type(a) is ArrayImpl else asarray(a)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that arrays of the given shapes broadcast to."""
    dims = [as_shape(s, "broadcast_shapes") for s in shapes]
    return _broadcast_shapes("broadcast_shapes", *dims) if dims else ()
