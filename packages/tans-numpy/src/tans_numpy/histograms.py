"""Counts of values: histogram and its relatives, bincount, digitize."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.errors import ConcretizationTypeError
from tans_numpy.creation import asarray
from tans_numpy.indexing.arguments import widened
from tans_numpy.joining import stack
from tans_numpy.manipulation import ravel
from tans_numpy.operands import ArrayLike, check_arraylike, is_discrete, promote_dtypes_inexact
from tans_numpy.out_shardings import placed
from tans_numpy.ranges import linspace
from tans_numpy.reductions import any as any_
from tans_numpy.reductions import sum as sum_
from tans_numpy.searching import searchsorted
from tans_numpy.selection import where
from tans_xla import composite
from tans_xla.sizes import as_size

type Array = Any


def bincount(
    x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *,
    length: int | None = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Count each value of a vector of non-negative integers.

    Args:
      x: integers [n]; negative ones count as 0.
      weights: [n], what each element adds to its count; 1 if None.
      minlength: least size of the result.
      length: static size of the result, needed while the function is traced; larger values are
        left out.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ConcretizationTypeError: traced `x` without `length`.
      TypeError: `x` is not of an integer type.
      ValueError: `x` is not a vector, or weights of another shape.

    Example:
      >>> bincount(jnp.array([1, 1, 2]))
      Array([0, 2, 1], dtype=int32)
    """
    check_arraylike("bincount", *(v for v in (x, weights) if v is not None))
    if not is_discrete(typeof(x).dtype):
        raise TypeError(f"bincount: given x of dtype {typeof(x).dtype}, expected integers.")
    if typeof(x).ndim != 1 or (weights is not None and typeof(weights).shape != typeof(x).shape):
        shape = None if weights is None else typeof(weights).shape
        raise ValueError(
            f"bincount: given x of shape {typeof(x).shape} and weights of shape {shape}, expected "
            "vectors of one size."
        )
    if length is None:
        length = max(operator.index(minlength), _largest(x) + 1)
    of = functools.partial(_bincount, length=as_size(length))
    return of(x, weights) if out_sharding is None else placed(of, [x, weights], out_sharding)


def _largest(x: Any) -> int:
    if isinstance(x, Tracer):
        x = x.concrete() if x.concrete() is not None else x
        if isinstance(x, Tracer):
            raise ConcretizationTypeError(
                x,
                "The size of the result of bincount depends on the data; pass length=.",
            )
    values = np.asarray(x)
    values = values.astype(dtypes.canonicalize(values.dtype), copy=False)
    return max(int(values.max()), 0) if values.size else -1


@composite(static_argnames=("length",))
def _bincount(x: Any, weights: Any, *, length: int) -> Array:
    x = asarray(x)
    if x.dtype == np.bool_:
        x = lax.convert_element_type(x, dtypes.default_int())
    x = widened(x)
    if np.issubdtype(x.dtype, np.signedinteger):
        x = lax.max(x, x.dtype.type(0))
    return _tally(x, 1 if weights is None else weights, length)


def _tally(index: Array, weights: Any, length: int) -> Array:
    """Add weights at places, which are in range or dropped."""
    dtype = dtypes.default_int() if type(weights) is int else typeof(weights).dtype
    if dtype == np.bool_:
        dtype = dtypes.default_int()
    n = typeof(index).size
    if not length or not n:
        return lax.full((length,), 0, dtype)
    updates = (
        lax.full((n,), weights, dtype)
        if type(weights) is int
        else lax.convert_element_type(weights, dtype)
    )
    return lax.scatter_add(
        lax.full((length,), 0, dtype),
        lax.expand_dims(index, (1,)),
        updates,
        lax.ScatterDimensionNumbers(
            update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ),
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Return the number of the bin that each value is in.

    Args:
      x: any shape.
      bins: edges, ascending or descending [m].
      right: whether bins include their right edge instead of the left one.
      method: how to search; see `searchsorted`.

    Returns:
      Integers of the shape of `x`: 0 is before the first edge, m behind the last.

    Example:
      >>> digitize(jnp.array([0.5, 1.5]), jnp.array([0.0, 1.0]))
      Array([1, 2], dtype=int32)
    """
    check_arraylike("digitize", x, bins)
    if typeof(bins).ndim != 1:
        raise ValueError(f"digitize: given bins of {typeof(bins).ndim} dimensions, expected 1.")
    return _digitize(x, bins, right=bool(right), method=method or "scan")


@composite(static_argnames=("right", "method"))
def _digitize(x: Any, bins: Any, *, right: bool, method: str) -> Array:
    n = typeof(bins).shape[0]
    index = dtypes.default_int()
    if n == 0:
        return lax.full(typeof(x).shape, 0, index)
    side = "left" if right else "right"
    bins = asarray(bins)
    if n == 1:
        return searchsorted(bins, x, side, method=method)
    descending = bins[0] > bins[-1]
    up = searchsorted(where(descending, lax.rev(bins, (0,)), bins), x, side, method=method)
    return where(descending, index.type(n) - up, up)


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:  # fmt: skip
    """Return the edges of the bins that `histogram` counts in.

    Args:
      a: any shape.
      bins: static number of bins, or the edges themselves.
      range: first and last edge; the extrema of `a` if None.
      weights: has no effect.

    Raises:
      NotImplementedError: `bins` is a string.
    """
    del weights
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram_bin_edges: given bins={bins!r}, expected a number or edges: rules that "
            "choose a number of bins depend on the data."
        )
    check_arraylike("histogram_bin_edges", a)
    if np.ndim(bins) == 1:
        return lax.convert_element_type(asarray(bins), _float(a))
    if range is None:
        return _data_edges(a, bins=operator.index(bins))
    low, high = range
    return _range_edges(low, high, dtype=_float(a), bins=operator.index(bins))


def _float(a: Any) -> Any:
    dtype = typeof(a).dtype
    return dtype if dtypes.is_inexact(dtype) else dtypes.default_float()


@composite(static_argnames=("bins",))
def _data_edges(a: Any, *, bins: int) -> Array:
    dtype = _float(a)
    if not typeof(a).size:
        return linspace(0, 1, bins + 1, dtype=dtype)
    axes = tuple(range(typeof(a).ndim))
    low, high = (
        lax.convert_element_type(f(a, axes), dtype) for f in (lax.reduce_min, lax.reduce_max)
    )
    return _range_edges.inline(low, high, dtype=dtype, bins=bins)


@composite(static_argnames=("dtype", "bins"))
def _range_edges(low: Any, high: Any, *, dtype: Any, bins: int) -> Array:
    low, high = (lax.convert_element_type(v, dtype) for v in (low, high))
    half = dtype.type(0.5)
    # Equal ends would give bins of no width.
    equal = low == high
    low, high = where(equal, low - half, low), where(equal, high + half, high)
    return linspace(low, high, bins + 1, dtype=dtype)


@composite
def _count(a: Any, edges: Any, weights: Any) -> Array:
    a, edges = promote_dtypes_inexact("histogram", ravel(a), edges)
    dtype = typeof(a).dtype
    weights = lax.full(typeof(a).shape, 1, dtype) if weights is None else ravel(weights)
    n = typeof(edges).shape[0]
    place = searchsorted(edges, a, "right")
    # The last bin includes its right edge; places 0 and n are outside.
    place = where(a == edges[-1], n - 1, place)
    return _tally(place, weights, n)[1:]


def histogram(
    a: ArrayLike, bins: ArrayLike = 10, range: Any = None, weights: ArrayLike | None = None,
    density: bool | None = None, out_sharding: Any = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Count the values in bins.

    Args:
      a: any shape.
      bins: static number of bins, or their edges.
      range: first and last edge; the extrema of `a` if None.
      weights: the shape of `a`, what each value adds to its count; 1 if None.
      density: divide by the total and the widths of the bins.
      out_sharding: sharding of the counts in explicit mode.

    Returns:
      Counts [n] and edges [n + 1], of the inexact dtype that `a` and the weights have in common.

    Raises:
      ValueError: weights of another shape.
    """
    check_arraylike("histogram", *(v for v in (a, weights) if v is not None))
    if weights is not None and typeof(weights).shape != typeof(a).shape:
        raise ValueError(
            f"histogram: given weights of shape {typeof(weights).shape} for values of shape "
            f"{typeof(a).shape}, expected one shape."
        )
    if weights is not None:
        a, weights = promote_dtypes_inexact("histogram", a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)

    def of(a: ArrayLike, weights: ArrayLike | None) -> Array:
        counts = _count(a, edges, weights)
        return counts / (edges[1:] - edges[:-1]) / sum_(counts) if density else counts

    if out_sharding is None:
        return of(a, weights), edges
    return placed(of, [a, weights], out_sharding), edges


def histogram2d(
    x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Any = None,
    weights: ArrayLike | None = None, density: bool | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Count points of the plane in bins.

    Args:
      x, y: coordinates [n].
      bins: number of bins, edges, or a pair of these.
      range: pair of first and last edges, one per dimension.
      weights: [n], what each point adds to its count.
      density: divide by the total and the areas of the bins.

    Returns:
      Counts [nx, ny] and the edges of both dimensions.
    """
    check_arraylike("histogram2d", x, y)
    if not isinstance(bins, tuple | list) and np.ndim(bins) == 1:
        bins = [bins, bins]
    counts, edges = histogramdd(stack([x, y], axis=1), bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: ArrayLike, bins: Any = 10, range: Any = None,
    weights: ArrayLike | None = None, density: bool | None = None,
) -> tuple[Array, list[Array]]:  # fmt: skip
    """Count points in bins of a space.

    Args:
      sample: points [n, dimensions].
      bins: number of bins, or one number or vector of edges per dimension.
      range: first and last edge of each dimension.
      weights: [n], what each point adds to its count.
      density: divide by the total and the volumes of the bins.

    Returns:
      Counts, one dimension per dimension of the space (integers without weights and density), and
      the edges of each.

    Raises:
      ValueError: not as many bins or ranges as dimensions.
    """
    check_arraylike("histogramdd", *(v for v in (sample, weights) if v is not None))
    points = asarray(sample)
    count, ndim = points.shape
    if weights is not None and typeof(weights).shape != (count,):
        raise ValueError(
            f"histogramdd: given weights of shape {typeof(weights).shape} for {count} points, "
            f"expected ({count},)."
        )
    if weights is not None:
        points, weights = promote_dtypes_inexact("histogramdd", points, weights)
    per_axis = list(bins) if isinstance(bins, tuple | list) or np.ndim(bins) else [bins] * ndim
    limits: Sequence[Any] = [None] * ndim if range is None else list(range)
    if len(per_axis) != ndim or len(limits) != ndim:
        raise ValueError(
            f"histogramdd: given {len(per_axis)} bins and {len(limits)} ranges for {ndim} "
            "dimensions, expected as many of each."
        )
    columns = list(points.T)
    edges = [
        histogram_bin_edges(column, b, limit)
        for column, b, limit in zip(columns, per_axis, limits, strict=True)
    ]
    counts = _count_cells(tuple(columns), tuple(edges), weights)
    if density:
        volume: Any = 1.0
        for i, e in enumerate(edges):
            width = (e[1:] - e[:-1]).reshape((-1,) + (1,) * (ndim - i - 1))
            volume = volume * width
        counts = (counts / sum_(counts) / volume).astype(typeof(volume).dtype)
    return counts, edges


@composite
def _count_cells(columns: tuple[Array, ...], edges: tuple[Array, ...], weights: Any) -> Array:
    dims = tuple(typeof(e).shape[0] - 1 for e in edges)
    total = int(np.prod(dims, dtype=np.int64))
    cell: Any = 0
    outside = []
    for column, e, n in zip(columns, edges, dims, strict=True):
        place = searchsorted(e, column, "right")
        place = where(column == e[-1], n, place) - 1
        outside.append((place < 0) | (place >= n))
        cell = cell * n + place
    cell = where(any_(stack(outside), 0), total, cell)
    return _tally(cell, 1 if weights is None else weights, total).reshape(dims)
