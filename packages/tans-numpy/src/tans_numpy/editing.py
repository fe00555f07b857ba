"""Elements put in, taken out or chosen: insert, delete, choose, compress, fill_diagonal, ..."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Tracer, typeof
from tans_core.errors import ConcretizationTypeError
from tans_lax.sizes import size_value
from tans_numpy.creation import asarray
from tans_numpy.indexing import take
from tans_numpy.joining import concatenate
from tans_numpy.manipulation import broadcast_arrays, broadcast_to, moveaxis, ravel, reshape
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    is_discrete,
    promote_dtypes,
    strong,
    weak_as,
)
from tans_numpy.rearrangement import concrete_ints
from tans_numpy.searching import nonzero
from tans_numpy.selection import where
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla.sizes import is_symbolic, min_size

type Array = Any


def _places(obj: Any, n: int, name: str) -> np.ndarray:
    """Return the static, non-negative indices that an int, slice, mask or vector selects."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    if isinstance(obj, tuple | list) or not np.ndim(obj):
        obj = concrete_ints(obj, name, "obj")
    elif not isinstance(obj, Tracer) and np.asarray(obj).dtype == np.bool_:
        obj = np.flatnonzero(np.asarray(obj))
    return concrete_ints(obj, name, "obj")


def delete(
    arr: ArrayLike, obj: ArrayLike | slice, axis: int | None = None, *,
    assume_unique_indices: bool = False,
) -> Array:  # fmt: skip
    """Return an array without some elements along a dimension.

    Args:
      arr: any shape.
      obj: int, slice, integers or booleans: which to leave out; static, unless
        `assume_unique_indices` is True.
      axis: the dimension; None deletes from the flattened array.
      assume_unique_indices: promise that integers in `obj` differ, which allows traced ones.

    Raises:
      ConcretizationTypeError: traced `obj` without the promise.
      ValueError: an index out of range.

    Example:
      >>> delete(jnp.array([4, 5, 6]), 1)
      Array([4, 6], dtype=int32)
    """
    check_arraylike("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonicalize_axis(axis, typeof(arr).ndim, "delete")
    n = typeof(arr).shape[axis]
    if (
        not isinstance(obj, slice)
        and isinstance(obj, Tracer)
        and (assume_unique_indices or not obj.ndim)
    ):
        return _delete_traced(arr, reshape(obj, (-1,)), axis, n)
    places = _places(obj, n, "delete")
    if is_symbolic(n):
        return _delete_traced(arr, asarray(np.unique(places)), axis, n)
    if places.size and (places.min() < -n or places.max() >= n):
        raise ValueError(
            f"delete: given an index out of range for an axis of size {n}, expected {-n} to "
            f"{n - 1}."
        )
    kept = np.delete(np.arange(n, dtype=np.int32), places)
    if kept.size and kept[-1] - kept[0] == kept.size - 1:
        return lax.slice_in_dim(arr, int(kept[0]), int(kept[-1]) + 1, 1, axis)
    return take(arr, kept, axis, mode="clip")


def _delete_traced(arr: Array, obj: Array, axis: int, n: int) -> Array:
    # Element k of the result is the k-th place that is not deleted.
    gone = lax.full((n,), False).at[obj].set(True)
    (kept,) = nonzero(~gone, size=n - typeof(obj).size)
    return take(arr, kept, axis, mode="clip")


def insert(
    arr: ArrayLike, obj: ArrayLike | slice, values: ArrayLike, axis: int | None = None
) -> Array:
    """Return an array with values put in front of given positions.

    Args:
      arr: any shape.
      obj: int, slice or integers, static: positions in `arr`; those beyond an end are at the end.
      values: what to insert; broadcast to the inserted part.
      axis: the dimension; None inserts into the flattened array.

    Example:
      >>> insert(jnp.array([1, 3]), 1, 2)
      Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("insert", arr, values)
    if axis is None:
        arr, axis = ravel(arr), 0
    arr, values = asarray(arr), asarray(values)
    axis = canonicalize_axis(axis, arr.ndim, "insert")
    n: Any = arr.shape[axis]
    single = not isinstance(obj, slice) and not np.ndim(obj)
    places = np.atleast_1d(_places(obj, n, "insert"))
    values = lax.convert_element_type(values, arr.dtype)
    if single and values.ndim:
        # NumPy reads the values of a scalar position with their first dimension along `axis`.
        if values.ndim < arr.ndim:
            values = reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        values = moveaxis(values, 0, axis)
        places = np.repeat(places, values.shape[axis])
    dims = (*arr.shape[:axis], len(places), *arr.shape[axis + 1 :])
    both = concatenate([arr, broadcast_to(values, dims)], axis)
    source = _sources_symbolic(places, n) if is_symbolic(n) else _sources(places, n)
    return weak_as(take(both, source, axis, mode="clip"), arr)


def _sources(places: np.ndarray, n: int) -> np.ndarray:
    """Return which of `n` old and then the new elements is where, with new ones at places."""
    places = np.clip(np.where(places < 0, places + n, places), 0, n)
    count = len(places)
    order = np.argsort(places, kind="stable")
    target = np.empty(count, np.int64)
    target[order] = places[order] + np.arange(count)
    source = np.empty(n + count, np.int32)
    old = np.ones(n + count, bool)
    old[target] = False
    source[old] = np.arange(n)
    source[target] = n + np.arange(count)
    return source


def _sources_symbolic(places: np.ndarray, n: Any) -> Array:
    """Do as `_sources` for an `n` that is known where the program is called."""
    count = size_value(n, np.int32)
    start = lax.select(places < 0, places + count, places + 0 * count)
    # A new element goes in front of the old one at its place, and after the new ones before it.
    keys = concatenate([lax.iota(np.int32, n) * 2 + 1, start * 2], 0)
    return lax.sort_key_val(keys, lax.iota(np.int32, n + len(places)))[1]


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """Take each element from the array that `a` names.

    Args:
      a: integers, any shape: which of `choices`.
      choices: sequence of arrays that broadcast with `a`, or an array whose first dimension counts.
      out: not supported.
      mode: "clip" or "wrap" for numbers out of range; "raise" needs concrete `a`.

    Raises:
      ConcretizationTypeError: mode "raise" and a traced `a`.
      ValueError: mode "raise" and a number out of range, or an unknown mode.
    """
    if out is not None:
        raise NotImplementedError("choose: given out=, expected None: arrays can't be written to.")
    check_arraylike("choose", a, *choices)
    n = len(choices)
    if not is_discrete(typeof(a).dtype):
        raise ValueError(f"choose: given indices of dtype {typeof(a).dtype}, expected integers.")
    if mode == "raise":
        values = concrete_ints(a, "choose", "a (with mode='raise')")
        if values.size and (values.min() < 0 or values.max() >= n):
            raise ValueError(
                f"choose: given an index out of range for {n} choices, expected 0 to {n - 1}. "
                "Use mode='clip' or 'wrap'."
            )
    elif mode not in ("clip", "wrap"):
        raise ValueError(f"choose: given mode {mode!r}, expected 'raise', 'clip' or 'wrap'.")
    a, *cases = broadcast_arrays(a, *choices)
    index = asarray(a).astype(int)
    index = index % n if mode == "wrap" else index.clip(0, n - 1)
    return lax.select_n(index.astype(np.int32), *map(strong, promote_dtypes("choose", *cases)))


def compress(
    condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None,
    fill_value: ArrayLike = 0, out: None = None,
) -> Array:  # fmt: skip
    """Return the slices along a dimension where a condition holds.

    Args:
      condition: booleans [m], m at most the size along `axis`.
      a: any shape.
      axis: the dimension; None takes from the flattened array.
      size: static number of slices to return; needed while the function is traced.
      fill_value: what to fill with where `size` exceeds the number of true elements.
      out: not supported.

    Raises:
      ConcretizationTypeError: a traced condition without `size`.
      ValueError: the condition is no vector, or true beyond the end, or `size` is too large.
    """
    if out is not None:
        raise NotImplementedError("compress: given out=, expected None: arrays can't be written.")
    check_arraylike("compress", condition, a, fill_value)
    if typeof(condition).ndim != 1:
        raise ValueError(
            f"compress: given a condition with {typeof(condition).ndim} dimensions, expected 1."
        )
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, typeof(a).ndim, "compress")
    n, m = typeof(a).shape[axis], typeof(condition).shape[0]
    if size is not None and size > n:
        raise ValueError(
            f"compress: given size={size} for an axis of size {n}, expected at most it."
        )
    if m > n:
        extra = condition[n:]
        if (not isinstance(extra, Tracer) or extra.concrete() is not None) and bool(extra.any()):
            raise ValueError(
                f"compress: given a condition that is true beyond the axis of size {n}."
            )
        condition = condition[:n]
    mask = as_bool(condition)
    if size is None:
        if isinstance(mask, Tracer) and mask.concrete() is None:
            raise ConcretizationTypeError(
                mask, "The size of the result of compress depends on the data; pass size=."
            )
        return take(a, np.flatnonzero(np.asarray(mask)).astype(np.int32), axis, mode="clip")
    (places,) = nonzero(mask, size=size, fill_value=n)
    return take(a, places, axis, mode="fill", fill_value=fill_value)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Return the elements of an array where a condition holds, flattened.

    Args:
      condition: booleans, as many as elements in `arr`.
      arr: any shape.
      size: static number of elements to return; needed while the function is traced.
      fill_value: what to fill with.
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Write values, one after another, where a mask holds.

    Args:
      arr: any shape.
      mask: booleans, as many as elements in `arr`.
      vals: values, repeated as needed.
      inplace: must be False: arrays can't be written to.

    Raises:
      ValueError: `inplace` is True, no values, or a mask of another size.
    """
    check_arraylike("place", arr, mask, vals)
    if inplace:
        raise ValueError(
            "place: given inplace=True, expected False: arrays are immutable. Use the result of "
            "jnp.place(..., inplace=False)."
        )
    flags, flat = as_bool(ravel(mask)), ravel(vals)
    if typeof(arr).size != typeof(flags).size or not typeof(flat).size:
        raise ValueError(
            f"place: given {typeof(flags).size} mask elements and {typeof(flat).size} values for "
            f"{typeof(arr).size} elements, expected as many mask elements and at least one value."
        )
    counts = lax.cumsum(flags.astype(int)) - 1
    chosen = take(flat, counts, mode="wrap").astype(typeof(arr).dtype)
    return where(reshape(flags, typeof(arr).shape), reshape(chosen, typeof(arr).shape), arr)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Return an array with other values on its main diagonal.

    Args:
      a: at least two dimensions; all equal if more than two.
      val: scalar or values for the diagonal, repeated as needed.
      wrap: not supported.
      inplace: must be False: arrays can't be written to.

    Raises:
      NotImplementedError: `inplace` or `wrap` is True.
      ValueError: fewer than two dimensions, or unequal ones.
    """
    if inplace:
        raise NotImplementedError(
            "fill_diagonal: given inplace=True, expected False: arrays are immutable. Use the "
            "result of jnp.fill_diagonal(..., inplace=False)."
        )
    if wrap:
        raise NotImplementedError("fill_diagonal: given wrap=True, expected False.")
    check_arraylike("fill_diagonal", a, val)
    dims = typeof(a).shape
    if len(dims) < 2 or (len(dims) > 2 and len(set(dims)) > 1):
        raise ValueError(
            f"fill_diagonal: given an array with shape {dims}, expected two dimensions, or more of "
            "one size."
        )
    flat = ravel(val)
    count = functools.reduce(min_size, dims)
    index = lax.iota(np.int32, count) if is_symbolic(count) else np.arange(count, dtype=np.int32)
    values = flat[0] if typeof(flat).size == 1 else flat[index % typeof(flat).size]
    return asarray(a).at[(index,) * len(dims)].set(values)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Return an array without the zeros at its ends.

    Args:
      filt: any shape, concrete: the size of the result depends on the data.
      trim: "f" for the front, "b" for the back, or both.
      axis: int or ints; all if None.

    Raises:
      ConcretizationTypeError: a traced array.
    """
    check_arraylike("trim_zeros", filt)
    x = asarray(filt)
    if isinstance(x, Tracer) and x.concrete() is None:
        raise ConcretizationTypeError(
            x, "The size of the result of trim_zeros depends on the data."
        )
    values = np.asarray(x.concrete() if isinstance(x, Tracer) else x)
    index: list[Any] = [slice(None)] * x.ndim
    found = np.nonzero(values)
    for i in canonicalize_axes(axis, x.ndim, "trim_zeros"):
        n = x.shape[i]
        first, last = (found[i].min(), found[i].max() + 1) if found[i].size else (n, n)
        front = int(first) if "f" in trim.lower() else 0
        back = int(last) if "b" in trim.lower() else n
        index[i] = slice(operator.index(front), max(back, front))
    return x[tuple(index)]
