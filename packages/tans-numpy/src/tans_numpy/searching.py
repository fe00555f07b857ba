"""Finding elements: argmax, nonzero, searchsorted and relatives."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_core.errors import ConcretizationTypeError
from tans_lax.sizes import size_value
from tans_numpy.dims import keep_dims
from tans_numpy.indexing import take
from tans_numpy.joining import atleast_1d, stack
from tans_numpy.manipulation import ravel
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes,
)
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite
from tans_xla.sizes import is_always_at_least, is_symbolic, max_size

type Array = Any

_ARG_STATIC: Final = ("axis", "out", "keepdims")
_INT32_MAX: Final = 2**31 - 1
_FEW: Final = 64  # length up to which comparing all pairs beats bisection


def _arg_extremum(a: Array, *, axis: int | None, keepdims: bool, kind: str, nan: bool) -> Array:
    aval = typeof(a)
    if aval.dtype == np.bool_:
        a = lax.convert_element_type(a, np.dtype(np.int8))
    operation = lax.argmax if kind == "argmax" else lax.argmin
    flat = axis is None
    if flat:
        a = lax.reshape(a, (aval.size,))
    index = dtypes.default_int()
    along = 0 if flat else axis
    if nan and dtypes.is_inexact(typeof(a).dtype):
        worst = -np.inf if kind == "argmax" else np.inf
        missing = lax.ne(a, a)
        out = operation(lax.select(missing, lax.full_like(a, worst), a), along, index)
        nothing = lax.reduce_and(missing, (along,))
        out = lax.select(nothing, lax.full_like(out, -1), out)
    else:
        out = operation(a, along, index)
    if not keepdims:
        return out
    axes = tuple(range(aval.ndim)) if flat else (axis,)
    return keep_dims(out, aval.shape, axes)


def _arg(a: ArrayLike, axis: Any, out: Any, keepdims: Any, kind: str, nan: bool = False) -> Array:
    name = f"nan{kind}" if nan else kind
    check_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"{name}: given out=, expected None: arrays can't be written to.")
    aval = typeof(a)
    at = None if axis is None else canonicalize_axis(axis, aval.ndim, name)
    if (aval.size if at is None else aval.shape[at]) == 0:
        raise ValueError(
            f"{name}: given an array with shape {aval.shape}, expected at least one element along "
            f"axis {axis}."
        )
    if issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"{name}: given complex numbers, expected real ones. Use abs(x) first.")
    return _arg_extremum(a, axis=at, keepdims=bool(keepdims), kind=kind, nan=nan)


@composite(static_argnames=_ARG_STATIC)
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first largest element; that of the first nan if there is one.

    Args:
      a: any shape; not empty along `axis`.
      axis: dimension to search; all, flattened, if None.
      out: not supported.
      keepdims: keep the dimension with size 1.

    Raises:
      ValueError: no element.
    """
    return _arg(a, axis, out, keepdims, "argmax")


@composite(static_argnames=_ARG_STATIC)
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first smallest element; see `argmax`."""
    return _arg(a, axis, out, keepdims, "argmin")


@composite(static_argnames=_ARG_STATIC)
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first largest element that is not nan, -1 without one."""
    return _arg(a, axis, out, keepdims, "argmax", nan=True)


@composite(static_argnames=_ARG_STATIC)
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first smallest element that is not nan, -1 without one."""
    return _arg(a, axis, out, keepdims, "argmin", nan=True)


def _static_size(a: Any, size: int | None, name: str) -> None:
    if size is not None and size < 0:
        raise ValueError(f"{name}: given size={size}, expected the number of results, at least 0.")
    if size is None and isinstance(a, Tracer) and a.concrete() is None:
        raise ConcretizationTypeError(
            a,
            f"The size of the result of {name} depends on the data; pass size= to make it static.",
        )


@composite(static_argnames=("size",))
def _nonzero(a: Array, fill: Any, *, size: int) -> tuple[Array, ...]:
    mask = as_bool(a)
    shape = typeof(mask).shape
    index = dtypes.default_int()
    flat = lax.reshape(mask, (typeof(mask).size,))
    counts = lax.cumsum(lax.convert_element_type(flat, index), 0)
    total = typeof(flat).size
    # The k-th true element is the number of positions that have seen at most k of them.
    if size == 0 or total == 0:
        positions = lax.full((size,), 0, index)
        found = lax.full((), 0, index)
    else:
        hits = lax.scatter_add(
            lax.full((max_size(size, 1),), 0, index),
            lax.reshape(counts, (total, 1)),
            lax.full((total,), 1, index),
            lax.ScatterDimensionNumbers(
                update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
            ),
            mode=lax.GatherScatterMode.FILL_OR_DROP,
        )
        positions = lax.slice_in_dim(lax.cumsum(hits, 0), 0, size)
        if is_always_at_least(total, 1):
            found = lax.index_in_dim(counts, total - 1, 0, keepdims=False)
        else:
            found = lax.reduce_sum(lax.convert_element_type(flat, index), (0,))
    beyond = lax.ge(lax.iota(index, size), found)
    out = []
    stride = total
    for k, n in enumerate(shape):
        stride = stride // n if n else 0
        step = size_value(max_size(stride, 1), index)
        along = positions if stride == 1 else lax.div(positions, step)
        along = lax.rem(along, size_value(max_size(n, 1), index)) if k else along
        value = fill[k] if isinstance(fill, tuple) else fill
        filled = lax.full((size,), 0, index) if value is None else (
            lax.broadcast(lax.convert_element_type(value, index), (size,))
        )  # fmt: skip
        out.append(lax.select(beyond, filled, along))
    return tuple(out)


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """Return the indices of the elements that differ from zero, one array per dimension.

    Args:
      a: any shape with at least one dimension.
      size: static number of indices to return; needed while the function is traced. Further ones
        are dropped, missing ones are filled.
      fill_value: index to fill with, or one per dimension; 0 if None.

    Raises:
      ConcretizationTypeError: a traced array without `size`.
      ValueError: a scalar.
    """
    check_arraylike("nonzero", a)
    if typeof(a).ndim == 0:
        raise ValueError(
            "nonzero: given a scalar, expected at least one dimension. Use atleast_1d first."
        )
    _static_size(a, size, "nonzero")
    if size is None:
        if isinstance(a, np.ndarray):
            a = a.astype(dtypes.canonicalize(a.dtype), copy=False)  # narrowed, as the result is
        size = int(np.count_nonzero(np.asarray(a)))
    if isinstance(fill_value, tuple | list):
        fill_value = tuple(fill_value)
        if len(fill_value) != typeof(a).ndim:
            raise ValueError(
                f"nonzero: given {len(fill_value)} fill values for {typeof(a).ndim} dimensions, "
                "expected one per dimension, or a single one."
            )
    return tuple(_nonzero(a, fill_value, size=size))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Return the indices of the elements of the flattened array that differ from zero."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Return the indices of the elements that differ from zero, one row each."""
    found = nonzero(atleast_1d(a), size=size, fill_value=fill_value)
    out = stack(found, axis=1)
    return out if typeof(a).ndim else out[:, :0]


@composite(static_argnames=("axis", "keepdims"))
def count_nonzero(a: ArrayLike, axis: Any = None, keepdims: bool = False) -> Array:
    """Count the elements that differ from zero, along some dimensions or all."""
    check_arraylike("count_nonzero", a)
    axes = canonicalize_axes(axis, typeof(a).ndim, "count_nonzero")
    counts = lax.convert_element_type(as_bool(a), dtypes.default_int())
    out = lax.reduce_sum(counts, axes)
    return keep_dims(out, typeof(a).shape, axes) if keepdims else out


def _comparison(v: Array, side: str) -> Any:
    """Return the function that tells whether an element of `a` goes before the values `v`."""
    if dtypes.is_complex(typeof(v).dtype):
        return _complex_comparison(v, side)
    compare = lax.lt if side == "left" else lax.le
    if not dtypes.is_inexact(typeof(v).dtype):
        return lambda x: compare(x, v)
    # nan sorts behind all numbers.
    v_is_nan = lax.ne(v, v)

    def goes_before(x: Array) -> Array:
        if side == "left":
            return lax.bitwise_or(compare(x, v), lax.bitwise_and(v_is_nan, lax.eq(x, x)))
        return lax.bitwise_or(compare(x, v), v_is_nan)

    return goes_before


def _complex_comparison(v: Array, side: str) -> Any:
    """Compare real parts, and imaginary parts where these are equal, as `sort` does."""
    real = lax.real(v)
    less, rest = _comparison(real, "left"), _comparison(lax.imag(v), side)

    def is_equal(x: Array) -> Array:
        both_nan = lax.bitwise_and(lax.ne(x, x), lax.ne(real, real))
        return lax.bitwise_or(lax.eq(x, real), both_nan)

    def goes_before(x: Array) -> Array:
        part = lax.real(x)
        tie = lax.bitwise_and(is_equal(part), rest(lax.imag(x)))
        return lax.bitwise_or(less(part), tie)

    return goes_before


def _count_before(a: Array, v: Array, *, side: str) -> Array:
    """Compare all pairs, which is fastest for short vectors: a fused sum, without a gather."""
    a, v = promote_dtypes("searchsorted", a, v)
    n, dims = typeof(a).shape[0], typeof(v).shape
    all_pairs = (*dims, n)
    a = lax.broadcast_in_dim(a, all_pairs, (len(dims),))
    before = _comparison(lax.broadcast_in_dim(v, all_pairs, tuple(range(len(dims)))), side)(a)
    return lax.reduce_sum(lax.convert_element_type(before, dtypes.default_int()), (len(dims),))


def _searchsorted(a: Array, v: Array, *, side: str) -> Array:
    a, v = promote_dtypes("searchsorted", a, v)
    index = dtypes.default_int()
    n, dims = typeof(a).shape[0], typeof(v).shape
    goes_before = _comparison(v, side)

    def halve(_: Any, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = lax.div(lax.add(low, high), index.type(2))
        # With the bounds together, the middle is behind the end or known not to go before.
        right = lax.bitwise_and(goes_before(take(a, middle, 0, mode="clip")), lax.lt(low, high))
        return (
            lax.select(right, lax.add(middle, index.type(1)), low),
            lax.select(right, high, middle),
        )

    start = (lax.full(dims, 0, index), lax.full(dims, size_value(n, index), index))
    largest = _INT32_MAX if is_symbolic(n) else n
    return lax.fori_loop(0, largest.bit_length(), halve, start)[0]


@composite(static_argnames=("side", "method"))
def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *,
    method: str = "scan",
) -> Array:  # fmt: skip
    """Return where values would go in a sorted vector, by binary search.

    Args:
      a: sorted vector [n].
      v: values, any shape.
      side: "left" goes before equal elements, "right" behind them.
      sorter: indices that sort `a`.
      method: "compare_all" compares all pairs, as the default does for short vectors; the others
        search by bisection.

    Raises:
      ValueError: unknown side, or `a` is not a vector.
    """
    check_arraylike("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: given side={side!r}, expected 'left' or 'right'.")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"searchsorted: given method={method!r}, expected 'scan', 'scan_unrolled', 'sort' or "
            "'compare_all'."
        )
    if typeof(a).ndim != 1:
        raise ValueError(
            f"searchsorted: given an array with {typeof(a).ndim} dimensions, expected a vector."
        )
    if sorter is not None:
        a = take(a, sorter)
    few = is_always_at_least(_FEW, typeof(a).shape[0])
    all_pairs = method == "compare_all" or (method == "scan" and few) or not typeof(a).size
    return (_count_before if all_pairs else _searchsorted)(a, v, side=side)
