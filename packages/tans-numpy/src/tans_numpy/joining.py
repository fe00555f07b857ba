"""Joining and splitting: concatenate, stack, split and relatives."""

import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import tans_lax as lax
from tans_core import ArrayImpl
from tans_numpy.creation import asarray, requested_dtype
from tans_numpy.manipulation import (
    as_array,
    expand_dims,
    ndim,
    ravel,
    reshape,
    shape,
    size,
    squeeze,
)
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes,
)
from tans_xla import composite
from tans_xla.sizes import as_size, max_size, min_size

type Array = Any


def _sequence(arrays: Any, where: str) -> Sequence[Any]:
    if hasattr(arrays, "shape"):
        if not arrays.ndim:
            error = TypeError if where == "stack" else ValueError
            raise error(f"{where}: given a scalar, expected a sequence of arrays.")
        return list(arrays)
    items = list(arrays)
    if not items:
        raise ValueError(f"{where}: given no arrays, expected at least one.")
    return items


def _concatenate(arrays: tuple[Array, ...], *, axis: int, dtype: Any) -> Array:
    if dtype is None:
        arrays = tuple(promote_dtypes("concatenate", *arrays))
    else:
        arrays = tuple(lax.convert_element_type(a, dtype) for a in arrays)
    return lax.concatenate(arrays, axis)


@composite(static_argnames=("axis", "dtype"))
def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """Join arrays along a dimension that they have.

    Args:
      arrays: sequence of arrays, whose shapes are equal except along `axis`.
      axis: the dimension; None joins the flattened arrays.
      dtype: dtype of the result; the common dtype if None.

    Raises:
      ValueError: no arrays, scalars, or shapes that do not fit.
    """
    items = _sequence(arrays, "concatenate")
    check_arraylike("concatenate", *items)
    if axis is None:
        return concatenate([ravel(a) for a in items], 0, dtype)
    if ndim(items[0]) == 0:
        raise ValueError(
            "concatenate: given scalars, expected arrays with at least one dimension. Use stack."
        )
    axis = canonicalize_axis(axis, ndim(items[0]), "concatenate")
    dtype = None if dtype is None else requested_dtype(dtype, "concatenate")
    return _concatenate(tuple(items), axis=axis, dtype=dtype)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Join arrays along a dimension that they have; see `concatenate`.

    Args:
      arrays: sequence of arrays, whose shapes are equal except along `axis`.
      axis: the dimension; None joins the flattened arrays.
    """
    return concatenate(arrays, axis)


def _stack(arrays: tuple[Array, ...], *, axis: int, dtype: Any) -> Array:
    if dtype is None:
        arrays = tuple(promote_dtypes("stack", *arrays))
    else:
        arrays = tuple(lax.convert_element_type(a, dtype) for a in arrays)
    return lax.stack(arrays, axis)


@composite(static_argnames=("axis", "out", "dtype"))
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Array:
    """Join arrays of one shape along a new dimension.

    Args:
      arrays: sequence of arrays of one shape.
      axis: position of the new dimension in the result.
      out: not supported.
      dtype: dtype of the result; the common dtype if None.

    Raises:
      ValueError: no arrays, or different shapes.
    """
    items = _sequence(arrays, "stack")
    if not len(items):
        raise ValueError("stack: given no arrays, expected at least one. Check how they are made.")
    check_arraylike("stack", *items)
    if out is not None:
        raise NotImplementedError("stack: given out=, expected None: arrays can't be written to.")
    shapes = {shape(a) for a in items}
    if len(shapes) > 1:
        raise ValueError(
            f"stack: given arrays with the shapes {sorted(shapes)}, expected one shape. "
            "Broadcast them first."
        )
    axis = canonicalize_axis(axis, ndim(items[0]) + 1, "stack")
    dtype = None if dtype is None else requested_dtype(dtype, "stack")
    return _stack(tuple(items), axis=axis, dtype=dtype)


def _at_least(rank: int, summary: str) -> Any:
    name = f"atleast_{rank}d"

    @composite
    def one(a: ArrayLike) -> Array:
        return _lifted(a, rank)

    @composite
    def several(arys: list[ArrayLike]) -> list[Array | None]:
        return [None if _has_rank(a, rank) else _lifted(a, rank) for a in arys]

    def at_least(*arys: ArrayLike) -> Any:
        if len(arys) == 1:
            a = arys[0]
            return a if type(a) is ArrayImpl and a.ndim >= rank else one(a)
        made = several(list(arys)) if arys else []
        return tuple([as_array(a) if b is None else b for a, b in zip(arys, made, strict=True)])

    at_least.__name__ = at_least.__qualname__ = name
    at_least.__doc__ = summary
    return at_least


def _has_rank(a: ArrayLike, rank: int) -> bool:
    check_arraylike(f"atleast_{rank}d", a)
    return ndim(a) >= rank


def _lifted(a: ArrayLike, rank: int) -> Array:
    """Return an array with at least `rank` dimensions: new ones in front, a third one behind."""
    if _has_rank(a, rank):
        return asarray(a)
    if ndim(a) == 2:
        return expand_dims(a, -1)
    return reshape(a, {1: (1,), 2: (1, size(a)), 3: (1, size(a), 1)}[rank])


atleast_1d = _at_least(1, "Return arrays with at least one dimension.")
atleast_2d = _at_least(2, "Return arrays with at least two dimensions; new ones in front.")
atleast_3d = _at_least(3, "Return arrays with at least three dimensions.")


@composite(static_argnames=("dtype",))
def vstack(tup: Any, dtype: Any = None) -> Array:
    """Join arrays along the first dimension; vectors become rows."""
    items = [atleast_2d(a) for a in _sequence(tup, "vstack")]
    return concatenate(items, 0, dtype)


@composite(static_argnames=("dtype",))
def hstack(tup: Any, dtype: Any = None) -> Array:
    """Join arrays along the second dimension, vectors along the first."""
    items = [atleast_1d(a) for a in _sequence(tup, "hstack")]
    return concatenate(items, 0 if ndim(items[0]) == 1 else 1, dtype)


@composite(static_argnames=("dtype",))
def dstack(tup: Any, dtype: Any = None) -> Array:
    """Join arrays along the third dimension."""
    return concatenate([atleast_3d(a) for a in _sequence(tup, "dstack")], 2, dtype)


@composite
def column_stack(tup: Any) -> Array:
    """Join vectors as the columns of a matrix."""
    items = [a if ndim(a) > 1 else reshape(a, (size(a), 1)) for a in _sequence(tup, "column_stack")]
    return concatenate(items, 1)


@composite(static_argnames=("bounds", "axis"))
def _split(a: Array, *, bounds: tuple[int, ...], axis: int) -> list[Array]:
    sizes = tuple(hi - lo for lo, hi in pairwise(bounds))
    return list(lax.split(a, sizes, axis))


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into parts; a number of parts need not divide the size.

    Args:
      ary: at least one dimension.
      indices_or_sections: number of parts, or the positions where parts begin.
      axis: the dimension to split.
    """
    return _split_at(ary, indices_or_sections, axis, "array_split", exact=False)


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into equal parts, or at positions.

    Args:
      ary: at least one dimension.
      indices_or_sections: number of parts, or the positions where parts begin.
      axis: the dimension to split.

    Raises:
      ValueError: the number of parts does not divide the size.
    """
    return _split_at(ary, indices_or_sections, axis, "split", exact=True)


def _split_at(ary: ArrayLike, where: Any, axis: int, name: str, exact: bool) -> list[Array]:
    check_arraylike(name, ary)
    axis = canonicalize_axis(axis, ndim(ary), name)
    n = shape(ary)[axis]
    if isinstance(where, tuple | list) or getattr(where, "ndim", 0):
        points = [as_size(i) for i in where]
        points = [min_size(max_size(p + n if p < 0 else p, 0), n) for p in points]
        bounds = [0, *accumulate(points, max_size), n]
    else:
        if not hasattr(where, "__index__"):
            raise TypeError(
                f"{name}: given {where!r} of type {type(where).__name__}, expected a number of "
                "parts or a sequence of positions. Round it with int()."
            )
        parts = operator.index(where)
        if parts <= 0 or (exact and n % parts):
            error = ValueError if parts else ZeroDivisionError
            raise error(
                f"{name}: given {parts} parts of a dimension of size {n}, expected a number that "
                "divides it. Use array_split for unequal parts."
            )
        step, extra = divmod(n, parts)
        bounds = [step * i + min_size(extra, i) for i in range(parts + 1)]
    return _split(ary, bounds=tuple(bounds), axis=axis)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split along the second dimension, a vector along the first."""
    return split(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split along the first dimension."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split along the third dimension."""
    return split(ary, indices_or_sections, 2)


@composite(static_argnames=("axis",))
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split into arrays without the dimension `axis`."""
    axis = canonicalize_axis(axis, ndim(x), "unstack")
    n = shape(x)[axis]
    return tuple(squeeze(part, axis) for part in array_split(x, n, axis)) if n else ()
