"""Arrays as sets: unique elements, membership, intersections, unions, differences."""

import math
from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.errors import ConcretizationTypeError
from tans_lax.sizes import size_value
from tans_numpy.creation import asarray
from tans_numpy.indexing import take
from tans_numpy.joining import concatenate
from tans_numpy.manipulation import moveaxis, ravel, reshape
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes,
    weak_as,
)
from tans_numpy.searching import nonzero, searchsorted
from tans_numpy.selection import where
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite
from tans_xla.sizes import as_size, is_always_at_least, min_size

type Array = Any


class UniqueAll(NamedTuple):
    """Distinct values, their first places, the number of each element's value, and counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Distinct values and how often each one occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Distinct values, and the number of each element's value."""

    values: Array
    inverse_indices: Array


def _is_traced(x: Any) -> bool:
    return isinstance(x, Tracer) and x.concrete() is None


def _check_static(x: Any, size: Any, name: str) -> None:
    if size is None and _is_traced(x):
        raise ConcretizationTypeError(
            x,
            f"The size of the result of {name} depends on the data; pass size= to make it static.",
        )


@composite(static_argnames=("axis",))
def _as_rows(ar: Array, *, axis: int | None) -> Array:
    """Return the elements as [n], or the slices along an axis as rows [n, m]."""
    if axis is None:
        return reshape(ar, (typeof(ar).size,))
    ar = moveaxis(ar, axis, 0)
    return reshape(ar, (typeof(ar).shape[0], math.prod(typeof(ar).shape[1:])))


@composite(static_argnames=("equal_nan",))
def _order(rows: Array, *, equal_nan: bool) -> tuple[Array, Array, Array]:
    """Return sorted rows, where they came from, and which differ from the row before."""
    n = typeof(rows).shape[0]
    index = lax.iota(dtypes.default_int(), n)
    if typeof(rows).ndim == 1:
        rows, origin = lax.sort((rows, index), num_keys=1)
    else:
        columns = tuple(rows[:, j] for j in range(typeof(rows).shape[1]))
        origin = lax.sort((*columns, index), num_keys=len(columns))[-1] if columns else index
        rows = take(rows, origin, 0, mode="clip")
    if n == 0:
        return rows, origin, lax.full((0,), False, np.dtype(bool))
    later, earlier = rows[1:], rows[:-1]
    differs = later != earlier
    if equal_nan and dtypes.is_inexact(typeof(rows).dtype):
        differs = differs & ((later == later) | (earlier == earlier))
    if typeof(rows).ndim > 1:
        differs = lax.reduce_or(differs, (1,))
    first = lax.full((1,), True, np.dtype(bool))
    return rows, origin, lax.concatenate([first, differs], 0)


@composite(static_argnames=("size", "what"))
def _collect(
    rows: Array, origin: Array, starts: Array, fill: Any, *, size: int, what: tuple[bool, ...]
) -> tuple[Array, ...]:
    n = typeof(rows).shape[0]
    integer = dtypes.default_int()
    (places,) = nonzero(starts, size=size, fill_value=n)
    out = [_filled(rows, places, fill)]
    if what[0]:
        # Stable sorting puts the first of equal elements first.
        out.append(_filled(origin, places, None))
    number = lax.cumsum(lax.convert_element_type(starts, integer)) - 1
    if what[1]:
        out.append(lax.full((n,), 0, integer).at[origin].set(number))
    if what[2]:
        end = size_value(n, integer)
        ends = concatenate([places[1:], lax.full((min_size(1, size),), end, integer)])
        out.append(lax.min(ends, end) - lax.min(places, end))
    return tuple(out)


def _filled(rows: Array, places: Array, fill: Any) -> Array:
    """Take rows; missing ones are the first one taken, or `fill`."""
    n = typeof(rows).shape[0]
    if n == 0:
        dims = (typeof(places).shape[0], *typeof(rows).shape[1:])
        return lax.full(dims, 0, typeof(rows).dtype) + (0 if fill is None else fill)
    found = take(rows, places, 0, mode="clip")
    beyond = places >= n
    if typeof(rows).ndim > 1:
        beyond = beyond[:, None]
    replacement = found[:1] if fill is None else lax.convert_element_type(fill, typeof(rows).dtype)
    return where(beyond, replacement, found) if typeof(places).shape[0] else found


def _unique(
    ar: Any, what: tuple[bool, bool, bool], axis: int | None, equal_nan: bool, size: int | None,
    fill: Any, name: str,
) -> tuple[Array, ...]:  # fmt: skip
    check_arraylike(name, ar)
    _check_static(ar, size, name)
    shape = typeof(ar).shape
    if axis is not None:
        axis = canonicalize_axis(axis, len(shape), name)
    rows, origin, starts = _order(_as_rows(ar, axis=axis), equal_nan=equal_nan)
    count = int(np.count_nonzero(_host(starts))) if size is None else as_size(size)
    if count and fill is None and not typeof(rows).shape[0]:
        raise ValueError(
            f"{name}: given size={size} for an array of shape {shape}, expected fill_value= too: "
            "nothing fills the result. Pass fill_value."
        )
    parts = list(_collect(rows, origin, starts, fill, size=count, what=what))
    if axis is not None:
        rest = shape[:axis] + shape[axis + 1 :]
        parts[0] = moveaxis(reshape(parts[0], (count, *rest)), 0, axis)
    elif what[1]:
        parts[1 + what[0]] = reshape(parts[1 + what[0]], shape)
    return tuple(parts)


def _host(x: Any) -> np.ndarray:
    return np.asarray(x.concrete() if isinstance(x, Tracer) else x)


def unique(
    ar: ArrayLike, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
    size: int | None = None, fill_value: ArrayLike | None = None, sorted: bool = True,
) -> Any:  # fmt: skip
    """Return the distinct elements in ascending order.

    Args:
      ar: any shape.
      return_index: also return the first place of each distinct element.
      return_inverse: also return the number of each element among the distinct ones.
      return_counts: also return how often each one occurs.
      axis: compare slices along this dimension; None compares elements of the flattened array.
      equal_nan: whether nan equals nan.
      size: static number of elements to return, needed while the function is traced. Further ones
        are left out, missing ones are filled.
      fill_value: what to fill with; the smallest element if None, which nothing has. Counts are
        filled with 0.
      sorted: has no effect: results are sorted.

    Returns:
      The distinct elements, or a tuple of them and what was asked for.

    Raises:
      ConcretizationTypeError: a traced array without `size`.
      ValueError: a `size` but no `fill_value` for an array without elements.

    Example:
      >>> unique(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    del sorted
    what = (bool(return_index), bool(return_inverse), bool(return_counts))
    out = _unique(ar, what, axis, bool(equal_nan), size, fill_value, "unique")
    return out if any(what) else out[0]


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """Return distinct elements, first places, numbers and counts; each nan is distinct.

    Args:
      x: any shape.
      size: static number of elements; see `unique`.
      fill_value: what to fill with.
    """
    return UniqueAll(*_unique(x, (True, True, True), None, False, size, fill_value, "unique_all"))


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """Return distinct elements and counts; see `unique_all`."""
    what = (False, False, True)
    return UniqueCounts(*_unique(x, what, None, False, size, fill_value, "unique_counts"))


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """Return distinct elements, and the number of each element among them; see `unique_all`."""
    what = (False, True, False)
    return UniqueInverse(*_unique(x, what, None, False, size, fill_value, "unique_inverse"))


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the distinct elements; see `unique_all`."""
    return _unique(x, (False, False, False), None, False, size, fill_value, "unique_values")[0]


# ---- membership and pairs of sets -------------------------------------------------------------


@composite(static_argnames=("invert", "sorting"))
def _isin(element: Any, tests: Any, *, invert: bool, sorting: bool) -> Array:
    element, tests = promote_dtypes("isin", element, ravel(tests))
    dims, m = typeof(element).shape, typeof(tests).shape[0]
    if m == 0:
        return lax.full(dims, invert, np.dtype(bool))
    if sorting:
        tests = lax.sort(tests)
        places = searchsorted(tests, element)
        found = take(tests, places, 0, mode="clip") == element
    else:
        found = lax.reduce_or(asarray(element)[..., None] == tests, (len(dims),))
    return lax.bitwise_not(found) if invert else found


def isin(
    element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False,
    invert: bool = False, *, method: str = "auto",
) -> Array:  # fmt: skip
    """Whether each element is among the test elements.

    Args:
      element: any shape.
      test_elements: any shape.
      assume_unique: has no effect.
      invert: return the opposite.
      method: "sort", "compare_all", "binary_search" or "auto": how to search.

    Raises:
      ValueError: unknown method.
    """
    del assume_unique
    check_arraylike("isin", element, test_elements)
    if method not in ("auto", "sort", "compare_all", "binary_search"):
        raise ValueError(
            f"isin: given method={method!r}, expected 'auto', 'sort', 'compare_all' or "
            "'binary_search'."
        )
    few = is_always_at_least(64, typeof(test_elements).size)
    sorting = method in ("sort", "binary_search") or (method == "auto" and not few)
    return _isin(element, test_elements, invert=bool(invert), sorting=sorting)


def _pair(name: str, ar1: Any, ar2: Any, size: Any) -> tuple[Array, Array]:
    check_arraylike(name, ar1, ar2)
    _check_static(ar1, size, name)
    _check_static(ar2, size, name)
    a, b = promote_dtypes(name, ar1, ar2)
    return ravel(asarray(a)), ravel(asarray(b))


@composite(static_argnames=("size",))
def _keep(values: Array, flags: Array, fill: Any, *, size: int) -> Array:
    """Return the flagged values; missing ones are the first one kept, or `fill`."""
    (places,) = nonzero(flags, size=size, fill_value=typeof(flags).shape[0])
    return _filled(values, places, fill)


def _kept(values: Array, flags: Array, size: int | None, fill: Any) -> Array:
    count = int(np.count_nonzero(_host(flags))) if size is None else as_size(size)
    return _keep(values, flags, fill, size=count)


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the distinct elements of either array in ascending order.

    Args:
      ar1, ar2: any shapes; flattened.
      size: static number of elements; see `unique`.
      fill_value: what to fill with; the smallest element if None.
    """
    a, b = _pair("union1d", ar1, ar2, size)
    both, nothing = concatenate([a, b]), (False, False, False)
    return _unique(both, nothing, None, True, size, fill_value, "union1d")[0]


@composite(static_argnames=("size",))
def _intersect(a: Array, b: Array, fill: Any, *, size: int | None) -> tuple[Array, ...]:
    """Find values that are in both arrays: equal neighbours from different arrays, sorted."""
    n, m = typeof(a).shape[0], typeof(b).shape[0]
    index = dtypes.default_int()
    both = lax.concatenate([a, b], 0)
    # Of equal values the ones of `a` come first, in order: a boundary between the arrays inside a
    # run of equal values is a common value.
    values, origin = lax.sort((both, lax.iota(index, n + m)), num_keys=1)
    boundary = (values[1:] == values[:-1]) & (origin[:-1] < n) & (origin[1:] >= n)
    starts = concatenate([lax.full((1,), True, np.dtype(bool)), values[1:] != values[:-1]])
    first = lax.cummax(where(starts, lax.iota(index, n + m), 0))
    return values, origin, boundary, first


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *,
    size: int | None = None, fill_value: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """Return the distinct elements that are in both arrays, in ascending order.

    Args:
      ar1, ar2: any shapes; flattened.
      assume_unique: has no effect on the result.
      return_indices: also return the first place of each one in both arrays.
      size: static number of elements; see `unique`.
      fill_value: what to fill with; the smallest common element if None.

    Returns:
      The elements, or a tuple of them and their places in `ar1` and `ar2`.
    """
    del assume_unique
    a, b = _pair("intersect1d", ar1, ar2, size)
    n, m = a.shape[0], b.shape[0]
    if n == 0 or m == 0:
        common = _kept(a[:0], lax.full((0,), False, np.dtype(bool)), size, fill_value)
        nothing = lax.full(common.shape, 0, dtypes.default_int())
        return (common, nothing, nothing) if return_indices else common
    values, origin, boundary, first = _intersect(a, b, None, size=None)
    common = _kept(values[:-1], boundary, size, fill_value)
    if not return_indices:
        return common
    in_a = _kept(origin[first[:-1]], boundary, size, n)
    in_b = _kept(origin[1:] - n, boundary, size, m)
    return common, in_a, in_b


def setdiff1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the distinct elements of the first array, in its dtype, that are not in the second.

    Args:
      ar1, ar2: any shapes; flattened.
      assume_unique: the elements of `ar1` are distinct; they then keep their order.
      size: static number of elements; see `unique`.
      fill_value: what to fill with; 0 if None.
    """
    _pair("setdiff1d", ar1, ar2, size)  # checks; the elements keep their own dtype
    a, b, fill = ravel(asarray(ar1)), ravel(asarray(ar2)), 0 if fill_value is None else fill_value
    if assume_unique:
        return weak_as(_kept(a, isin(a, b, invert=True), size, fill), a)
    values, _, starts = _order(_as_rows(a, axis=None), equal_nan=True)
    return weak_as(_kept(values, starts & isin(values, b, invert=True), size, fill), a)


def setxor1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the distinct elements that are in one array only, in ascending order.

    Args:
      ar1, ar2: any shapes; flattened.
      assume_unique: has no effect on the result.
      size: static number of elements; see `unique`.
      fill_value: what to fill with; the smallest of them if None.
    """
    del assume_unique
    a, b = _pair("setxor1d", ar1, ar2, size)
    values, _, starts = _order(concatenate([a, b]), equal_nan=True)
    alone = isin(values, a) ^ isin(values, b)
    return _kept(values, starts & as_bool(alone), size, fill_value)
