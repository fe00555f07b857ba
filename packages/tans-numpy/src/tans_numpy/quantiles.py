"""Order statistics: quantile, percentile, median, and their forms that leave out nan."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_lax.sizes import size_value
from tans_numpy.dims import keep_dims
from tans_numpy.indexing import take, take_along_axis
from tans_numpy.manipulation import broadcast_to, moveaxis, reshape, transpose
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
    to_inexact,
)
from tans_numpy.out_shardings import placed
from tans_numpy.refusals import refuse_out
from tans_xla import composite

type Array = Any
type Axis = Any

_STATIC: Final = ("axis", "out", "overwrite_input", "method", "keepdims")
_METHODS: Final = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _quantile(
    a: Array, q: Any, *, axes: tuple[int, ...], method: str, keepdims: bool, nan: bool,
    scale: float = 1.0,
) -> Array:  # fmt: skip
    """Compute quantiles; places known while tracing become slices instead of gathers."""
    q_shape, dims = typeof(q).shape, typeof(a).shape
    given = q
    result = to_inexact(typeof(a).dtype)
    a, q = promote_dtypes_inexact("quantile", a, q)
    # Places and weights need more digits than a half-precision type has.
    dtype = np.dtype(np.float32) if result.itemsize < 4 else result
    a = lax.convert_element_type(a, dtype)
    if isinstance(given, np.ndarray | np.generic | int | float):
        q = np.asarray(given, dtype).ravel() if q_shape else np.asarray(given, dtype)[()]
    else:
        q = lax.convert_element_type(q, dtype)
        q = reshape(q, (-1,)) if q_shape else q
    if scale != 1.0:
        q = q / dtype.type(scale)
    x = lax.sort(_to_last(a, axes), is_stable=False)
    n = typeof(x).shape[-1]
    last = lax.index_in_dim(x, n - 1, -1, keepdims=False)
    if nan:
        x_is_nan = lax.ne(x, x)
        missing = lax.convert_element_type(x_is_nan, dtype)
        top = lax.sub(size_value(n - 1, dtype), lax.reduce_sum(missing, (typeof(x).ndim - 1,)))
        # All nan: the place 0 holds nan, as it should.
        top = lax.max(top, dtype.type(0))
    else:
        top = size_value(n - 1, dtype)
    out = _at(x, q, top, method)
    if not nan:
        bad = lax.ne(last, last)
        bad = (
            bad if typeof(bad).shape == typeof(out).shape else broadcast_to(bad, typeof(out).shape)
        )
        out = lax.select(bad, lax.full_like(out, np.nan), out)
    front = len(q_shape) > 0
    if keepdims:
        shape = (typeof(out).shape[0], *dims) if front else dims
        out = keep_dims(out, shape, tuple(i + front for i in axes))
    out = lax.convert_element_type(out, result)
    return reshape(out, (*q_shape, *typeof(out).shape[1:])) if len(q_shape) > 1 else out


def _to_last(a: Array, axes: tuple[int, ...]) -> Array:
    """Merge the dimensions `axes` into one at the end."""
    rest = tuple(i for i in range(typeof(a).ndim) if i not in axes)
    if len(axes) == 1:
        return moveaxis(a, axes[0], -1) if axes[0] != typeof(a).ndim - 1 else a
    a = transpose(a, rest + axes) if rest else a
    return reshape(a, (*typeof(a).shape[: len(rest)], -1))


def _at(x: Array, q: Any, top: Any, method: str) -> Array:
    """Return the values at the places ``q * top`` of sorted `x`; those of all `q` come first."""
    static = isinstance(q, np.ndarray | np.generic | float) and isinstance(top, np.generic)
    dtype = typeof(x).dtype
    pick = partial(_pick, x, per_slice=typeof(top).ndim > 0)
    if not static and typeof(q).ndim and typeof(top).ndim:
        q = lax.reshape(q, (typeof(q).size,) + (1,) * typeof(top).ndim)
        q = lax.broadcast_in_dim(q, (typeof(q).shape[0], *typeof(top).shape), tuple(
            range(typeof(top).ndim + 1)
        ))  # fmt: skip
        top = broadcast_to(top, typeof(q).shape)
    if static:
        q = np.asarray(q, dtype)[()]
        floor, ceil, clip = np.floor, np.ceil, lambda v: np.minimum(np.maximum(v, 0), top)
    else:
        floor, ceil, clip = lax.floor, lax.ceil, lambda v: lax.clamp(_zero(v), v, _like(top, v))
    if method == "inverted_cdf":
        place = clip(ceil(q * (top + dtype.type(1))) - dtype.type(1))
        return pick(place)
    place = q * top
    low, high = floor(place), ceil(place)
    weight = place - low
    if method == "lower":
        return pick(clip(low))
    if method == "higher":
        return pick(clip(high))
    if method == "nearest":
        half = dtype.type(0.5)
        upper = weight > half
        nearest = np.where(upper, high, low)[()] if static else lax.select(upper, high, low)
        return pick(clip(nearest))
    first, second = pick(clip(low)), pick(clip(high))
    if method == "midpoint":
        return (first + second) * dtype.type(0.5)
    weight = _spread(weight, first)
    return first * (dtype.type(1) - weight) + second * weight


def _zero(v: Any) -> Any:
    return typeof(v).dtype.type(0)


def _like(top: Any, v: Any) -> Any:
    return top if not typeof(top).ndim else broadcast_to(top, typeof(v).shape)


def _spread(weight: Any, x: Array) -> Any:
    """Give weights, one per quantile, the rank of the values."""
    missing = typeof(x).ndim - typeof(weight).ndim
    if not typeof(weight).ndim or not missing:
        return weight
    return reshape(weight, typeof(weight).shape + (1,) * missing)


def _pick(x: Array, place: Any, per_slice: bool) -> Array:
    """Return ``x[..., place]``, quantiles first; `place` may differ from slice to slice."""
    index = place.astype(np.int32)
    if isinstance(index, np.generic):
        return lax.index_in_dim(x, int(index), -1, keepdims=False)
    if not per_slice:
        found = take(x, index, -1, mode="clip")
        return moveaxis(found, -1, 0) if typeof(index).ndim else found
    if typeof(index).ndim < typeof(x).ndim:
        return take_along_axis(x, index[..., None], -1, mode="clip")[..., 0]
    return moveaxis(take_along_axis(x, moveaxis(index, 0, -1), -1, mode="clip"), -1, 0)


def _weighted(
    a: Array, q: Any, weights: Array, *, axes: tuple[int, ...], keepdims: bool, nan: bool,
    scale: float = 1.0,
) -> Array:  # fmt: skip
    """Return the smallest value at which the running share of the weights reaches `q`."""
    q_shape, dims = typeof(q).shape, typeof(a).shape
    a, q = promote_dtypes_inexact("quantile", a, q)
    dtype = typeof(a).dtype
    q = lax.reshape(lax.convert_element_type(q, dtype) / dtype.type(scale), (typeof(q).size,))
    weights = lax.convert_element_type(weights, dtype)
    if typeof(weights).shape != dims:
        weights = broadcast_to(
            lax.broadcast_in_dim(weights, tuple(n if i in axes else 1 for i, n in enumerate(dims)),
                                 axes), dims)  # fmt: skip
    x, w = _to_last(a, axes), _to_last(weights, axes)
    if nan:
        w = lax.select(lax.ne(x, x), lax.full_like(w, 0), w)
    x, w = lax.sort((x, w), num_keys=1)
    axis = typeof(x).ndim - 1
    running = lax.cumsum(w, axis)
    n = typeof(x).shape[-1]
    total = lax.slice_in_dim(running, n - 1, n, 1, axis)
    goal = q * total  # [..., quantiles]
    below = running[..., None, :] < goal[..., :, None]
    index = lax.reduce_sum(lax.convert_element_type(below, np.dtype(np.int32)), (axis + 1,))
    found = moveaxis(take_along_axis(x, index, -1, mode="clip"), -1, 0)
    if not nan:
        last = lax.index_in_dim(x, n - 1, axis, keepdims=False)
        bad = broadcast_to(lax.ne(last, last), typeof(found).shape)
        found = lax.select(bad, lax.full_like(found, np.nan), found)
    if keepdims:
        found = keep_dims(found, (typeof(found).shape[0], *dims), tuple(i + 1 for i in axes))
    return reshape(found, (*q_shape, *typeof(found).shape[1:]))


def _order_statistic(
    name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any,
    nan: bool, scale: float,
) -> Array:  # fmt: skip
    check_arraylike(name, a, q)
    refuse_out(out, name)
    if method not in _METHODS:
        raise ValueError(
            f"{name}: given method={method!r}, expected one of {', '.join(map(repr, _METHODS))}."
        )
    aval = typeof(a)
    if dtypes.is_complex(aval.dtype) or dtypes.is_complex(typeof(q).dtype):
        raise ValueError(f"{name}: given complex numbers, expected real ones: they have no order.")
    if not aval.ndim:
        a, axes = reshape(a, (1,)), (0,)
        if keepdims:
            keepdims = False
    else:
        axes = canonicalize_axes(axis, aval.ndim, name)
    if any(typeof(a).shape[i] == 0 for i in axes):
        if not nan:
            error = ValueError if name == "median" else TypeError
            raise error(
                f"{name}: given an array with shape {aval.shape}, expected at least one element "
                f"along axis {axis}. Check the size first, or use nan{name}."
            )
        dims = [1 if i in axes else n for i, n in enumerate(aval.shape)]
        a, weights = lax.full(dims, np.nan, to_inexact(aval.dtype)), None
    if weights is None:
        return _quantile(
            a, q, axes=axes, method=method, keepdims=bool(keepdims), nan=nan, scale=scale
        )
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}: given weights= and method={method!r}, expected method='inverted_cdf'."
        )
    check_arraylike(name, weights)
    return _weighted(a, q, weights, axes=axes, keepdims=bool(keepdims), nan=nan, scale=scale)


_DOC: Final = """{summary}

    Args:
      a: any shape, real; integers become the default float.
      q: {q}, any shape.
      axis: int or ints to reduce; all if None.
      out: not supported.
      overwrite_input: has no effect.
      method: "linear", "lower", "higher", "midpoint", "nearest" or "inverted_cdf": what to return
        between two elements.
      keepdims: keep reduced dimensions with size 1.
      weights: weight of each element, for the method "inverted_cdf".

    Returns:
      Array of the shape of `q` followed by the dimensions that are left.

    Raises:
      TypeError: nothing along `axis`; functions that leave out nan return nan there.
      ValueError: unknown method, or complex numbers.
"""


def _plain(name: str, nan: bool, scale: float, summary: str, q: str) -> Callable[..., Array]:
    def statistic(
        a: ArrayLike,
        q: ArrayLike,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Array:
        return _order_statistic(name, a, q, axis, out, method, keepdims, weights, nan, scale)

    statistic.__name__ = statistic.__qualname__ = name
    statistic.__doc__ = _DOC.format(summary=summary, q=q)
    return composite(static_argnames=_STATIC)(statistic)


_SHARE, _PERCENT = "shares from 0 to 1", "percentages from 0 to 100"
quantile = _plain("quantile", False, 1.0, "Return quantiles; nan if an element is nan.", _SHARE)
nanquantile = _plain(
    "nanquantile", True, 1.0, "Return quantiles of the elements that are not nan.", _SHARE
)
nanpercentile = _plain(
    "nanpercentile", True, 100.0, "Return percentiles of the elements that are not nan.", _PERCENT
)


@composite(static_argnames=(*_STATIC, "out_sharding"), is_whole=True)
def percentile(
    a: ArrayLike, q: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Return percentiles; nan if an element is nan. See `quantile`, with `q` from 0 to 100."""
    del overwrite_input

    def of(a: ArrayLike, q: ArrayLike, weights: ArrayLike | None) -> Array:
        return _order_statistic(
            "percentile", a, q, axis, out, method, keepdims, weights, False, 100.0
        )

    return of(a, q, weights) if out_sharding is None else placed(of, [a, q, weights], out_sharding)


@composite(static_argnames=_STATIC)
def median(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Return the median; nan if an element is nan.

    Args:
      a: any shape, real; not empty along the reduced dimensions.
      axis: int or ints to reduce; all if None.
      out: not supported.
      overwrite_input: has no effect.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: nothing along `axis`.
    """
    del overwrite_input
    return _order_statistic("median", a, 0.5, axis, out, "midpoint", keepdims, None, False, 1.0)


@composite(static_argnames=_STATIC)
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Return the median of the elements that are not nan; arguments as for `median`."""
    del overwrite_input
    return _order_statistic("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, None, True, 1.0)
