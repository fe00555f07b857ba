"""The same elements in other places or more often: flip, roll, tile, repeat and relatives."""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.errors import ConcretizationTypeError
from tans_lax.sizes import size_value
from tans_numpy.creation import as_shape, asarray
from tans_numpy.indexing import take
from tans_numpy.joining import atleast_1d, concatenate
from tans_numpy.manipulation import expand_dims, ravel, reshape, swapaxes
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    is_discrete,
)
from tans_numpy.out_shardings import placed
from tans_xla import composite
from tans_xla.sizes import as_size, has_symbolic, is_always_at_least, max_size

type Array = Any


def concrete_ints(x: Any, name: str, option: str) -> np.ndarray:
    """Return integers that must be known while a function is traced; sizes may be symbolic.

    Raises:
      ConcretizationTypeError: they are traced.
      TypeError: they are not integers.
    """
    if isinstance(x, Tracer):
        value = x.concrete()
        if value is None:
            raise ConcretizationTypeError(
                x,
                f"The {option} of {name} decides the shape of the result, which must be known "
                "while the function is traced.",
            )
        x = value
    out = np.asarray(x)
    if out.dtype == object and has_symbolic(out.ravel()):
        return out
    if out.size and not is_discrete(out.dtype):
        raise TypeError(
            f"{name}: given {option} of dtype {out.dtype}, expected integers. Convert them with "
            "astype(int)."
        )
    return out.astype(np.int64)


@composite(static_argnames=("axis",))
def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of elements along some dimensions.

    Args:
      m: any shape.
      axis: int or ints; all if None.

    Example:
      >>> flip(jnp.array([1, 2, 3]))
      Array([3, 2, 1], dtype=int32)
    """
    check_arraylike("flip", m)
    return lax.rev(m, canonicalize_axes(axis, typeof(m).ndim, "flip"))


def flipud(m: ArrayLike) -> Array:
    """Reverse the order along the first dimension.

    Args:
      m: at least one dimension.
    """
    return flip(m, 0)


def fliplr(m: ArrayLike) -> Array:
    """Reverse the order along the second dimension.

    Args:
      m: at least two dimensions.
    """
    return flip(m, 1)


@composite(static_argnames=("k", "axes"))
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate by quarter turns in the plane of two dimensions, from the first to the second.

    Args:
      m: at least two dimensions.
      k: static number of quarter turns.
      axes: the two dimensions.

    Raises:
      ValueError: the dimensions are out of range or equal.
    """
    check_arraylike("rot90", m)
    first, second = (canonicalize_axis(a, typeof(m).ndim, "rot90") for a in axes)
    if first == second:
        raise ValueError(f"rot90: given axes {axes}, expected two different dimensions.")
    turns = operator.index(k) % 4
    if turns == 0:
        return asarray(m)
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


@composite(static_argnames=("shifts",))
def _roll_static(a: Array, *, shifts: tuple[tuple[int, int], ...]) -> Array:
    for axis, shift in shifts:
        n = typeof(a).shape[axis]
        cut = -shift % max_size(n, 1)
        if cut:
            parts = [lax.slice_in_dim(a, cut, n, 1, axis), lax.slice_in_dim(a, 0, cut, 1, axis)]
            a = lax.concatenate(parts, axis)
    return a


@composite(static_argnames=("axis",))
def _roll_dynamic(a: Array, shift: Any, *, axis: int) -> Array:
    n = typeof(a).shape[axis]
    if n == 0:
        return asarray(a)
    dtype = typeof(shift).dtype
    size = size_value(n, dtype)
    shift = lax.rem(shift, size)  # in (-n, n); the window starts n - shift into two copies
    twice = lax.concatenate([a, a, a], axis)
    return lax.dynamic_slice_in_dim(twice, lax.sub(size, shift), n, axis)


@composite(static_argnames=("shift", "axis"))
def roll(
    a: ArrayLike, shift: ArrayLike | Sequence[int], axis: int | Sequence[int] | None = None
) -> Array:
    """Move elements along dimensions; what leaves at one end enters at the other.

    Args:
      a: any shape.
      shift: by how many places; one per dimension, or one for all. May be traced.
      axis: int or ints; None rolls the flattened array.

    Raises:
      ValueError: the numbers of shifts and dimensions do not fit.

    Example:
      >>> roll(jnp.arange(4), 1)
      Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), typeof(a).shape)
    axes = [canonicalize_axis(i, typeof(a).ndim, "roll") for i in np.atleast_1d(axis).tolist()]
    if isinstance(shift, tuple | list):
        shifts: list[Any] = list(shift)
    elif not isinstance(shift, Tracer) or shift.concrete() is not None:
        shifts = concrete_ints(shift, "roll", "shift").ravel().tolist()
    else:
        shifts = [shift] if not shift.ndim else list(shift)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ValueError(
            f"roll: given {len(shifts)} shifts for {len(axes)} dimensions, expected as many of "
            "both, or a single one."
        )
    if not any(isinstance(s, Tracer) for s in shifts):
        pairs = tuple((i, as_size(s)) for i, s in zip(axes, shifts, strict=True))
        return _roll_static(a, shifts=pairs)
    for i, s in zip(axes, shifts, strict=True):
        a = _roll_dynamic(a, s, axis=i)
    return a


@composite(static_argnames=("reps",))
def _tile(a: Array, *, reps: tuple[int, ...]) -> Array:
    a = lax.expand_dims(a, tuple(range(len(reps) - typeof(a).ndim)))
    return lax.tile(a, reps)


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Repeat a whole array along its dimensions.

    Args:
      A: any shape.
      reps: int or ints; missing ones in front are 1, more than dimensions add dimensions.

    Example:
      >>> tile(jnp.array([1, 2]), 2)
      Array([1, 2, 1, 2], dtype=int32)
    """
    check_arraylike("tile", A)
    counts = as_shape(reps, "tile")
    counts = (1,) * (typeof(A).ndim - len(counts)) + counts
    return _tile(A, reps=counts)


@composite(static_argnames=("count", "axis"))
def _repeat_each(a: Array, *, count: int, axis: int) -> Array:
    dims = typeof(a).shape
    kept = tuple(i for i in range(len(dims) + 1) if i != axis + 1)
    spread = lax.broadcast_in_dim(a, (*dims[: axis + 1], count, *dims[axis + 1 :]), kept)
    return lax.reshape(spread, (*dims[:axis], dims[axis] * count, *dims[axis + 1 :]))


@composite(static_argnames=("axis", "total"))
def _repeat_counted(a: Array, repeats: Array, *, axis: int, total: int) -> Array:
    n = typeof(a).shape[axis]
    if total == 0 or is_always_at_least(1, n):
        return take(a, lax.full((total,), 0, np.dtype(np.int32)), axis, mode="clip")
    index = dtypes.default_int()
    ends = lax.cumsum(lax.convert_element_type(lax.slice_in_dim(repeats, 0, n - 1), index))
    # A place holds the element whose number is the number of elements that end at or before it.
    marks = lax.scatter_add(
        lax.full((total,), 0, index),
        lax.expand_dims(ends, (1,)),
        lax.full((n - 1,), 1, index),
        lax.ScatterDimensionNumbers(
            update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ),
        indices_are_sorted=True,
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )
    return take(a, lax.cumsum(marks), axis, mode="clip", indices_are_sorted=True)


def repeat(
    a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *,
    total_repeat_length: int | None = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Repeat each element.

    Args:
      a: any shape.
      repeats: how often, one number per element along `axis` or one for all.
      axis: the dimension; None repeats elements of the flattened array.
      total_repeat_length: static size of the result along `axis`, needed where `repeats` is traced.
        Surplus is dropped; where elements lack, the last one is repeated.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ConcretizationTypeError: traced `repeats` without `total_repeat_length`.
      ValueError: the number of `repeats` does not fit, or one is negative.

    Example:
      >>> repeat(jnp.array([1, 2]), jnp.array([1, 2]))
      Array([1, 2, 2], dtype=int32)
    """
    check_arraylike("repeat", a, repeats)
    if out_sharding is not None:
        of = functools.partial(repeat, repeats=repeats, axis=axis,
                               total_repeat_length=total_repeat_length)  # fmt: skip
        return placed(of, [a], out_sharding)
    if axis is None or typeof(a).ndim == 0:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, typeof(a).ndim, "repeat")
    n = typeof(a).shape[axis]
    if total_repeat_length is None:
        counts = concrete_ints(repeats, "repeat", "repeats")
        _check_counts(counts.shape, counts, n)
        if counts.size == 1:
            return _repeat_each(a, count=as_size(counts.ravel()[0]), axis=axis)
        return take(a, np.repeat(np.arange(n, dtype=np.int32), counts), axis, mode="clip")
    total = as_size(total_repeat_length)
    counts = atleast_1d(asarray(repeats))
    _check_counts(typeof(counts).shape, None, n)
    if typeof(counts).shape[0] != n:
        counts = lax.broadcast_in_dim(lax.reshape(counts, ()), (n,), ())
    return _repeat_counted(a, counts, axis=axis, total=total)


def _check_counts(shape: tuple[int, ...], values: np.ndarray | None, n: int) -> None:
    if len(shape) > 1 or (shape and shape[0] not in (1, n)):
        raise ValueError(
            f"repeat: given repeats of shape {shape} for {n} elements, expected one number, or "
            f"{n} of them."
        )
    if values is not None and (values < 0).any():
        raise ValueError("repeat: given a negative number of repeats, expected at least 0.")


@composite(static_argnames=("axis",))
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join values to the end of an array; both are flattened if `axis` is None.

    Args:
      arr: any shape.
      values: shape equal to that of `arr` except along `axis`.
      axis: the dimension.
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


@composite(static_argnames=("new_shape",))
def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """Return the elements in another shape, repeated or cut to its size.

    Args:
      a: any shape; zeros are used if it is empty.
      new_shape: int or ints.

    Raises:
      ValueError: a size is negative.
    """
    check_arraylike("resize", a)
    dims = as_shape(new_shape, "resize")
    total, n = math.prod(dims), typeof(a).size
    flat = ravel(a)
    if n == 0:
        return lax.full(dims, 0, typeof(a).dtype)
    if not is_always_at_least(n, total):
        flat = tile(flat, -(-total // n))
    return reshape(flat[:total], dims)


@composite
def block(arrays: Any) -> Array:
    """Join nested lists of arrays: the innermost lists along the last dimension.

    Args:
      arrays: array, or nested lists of one depth; scalars and vectors gain dimensions in front.

    Raises:
      TypeError: a tuple is given.
      ValueError: an empty list, or lists of different depth.
    """
    depth = _depth(arrays)
    joined, _ = _join(arrays, depth)
    return joined


def _depth(x: Any) -> int:
    if isinstance(x, tuple):
        raise TypeError("block: given a tuple, expected a list. Convert it: list(arrays).")
    if not isinstance(x, list):
        return 0
    depths = {_depth(v) for v in x}
    if len(depths) != 1:
        raise ValueError(
            f"block: given lists of the depths {sorted(depths)}, expected one depth and no empty "
            "list."
        )
    return depths.pop() + 1


def _join(x: Any, depth: int, rank: int | None = None) -> tuple[Array, int]:
    if rank is None:
        rank = max(depth, _largest_rank(x))
    if not isinstance(x, list):
        missing = rank - typeof(x).ndim
        return (expand_dims(x, tuple(range(missing))) if missing else asarray(x)), rank
    return concatenate([_join(v, depth - 1, rank)[0] for v in x], rank - depth), rank


def _largest_rank(x: Any) -> int:
    if isinstance(x, list):
        return max(map(_largest_rank, x))
    check_arraylike("block", x)
    return typeof(x).ndim
