"""Folds of ufuncs along a dimension: reduce, accumulate, reduceat and outer.

A ufunc with a reduction of its own (`add` and `sum`, for example) uses it; any other is applied
from the first element to the last by a loop of the compiled program.
"""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.creation import asarray, requested_dtype
from tans_numpy.cumulative import cumprod, cumsum
from tans_numpy.exponential_sums import logsumexp
from tans_numpy.indexing import take
from tans_numpy.manipulation import broadcast_to, moveaxis, ravel, reshape
from tans_numpy.methods import astype
from tans_numpy.operands import (
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
    strong,
)
from tans_numpy.reductions import all as all_
from tans_numpy.reductions import any as any_
from tans_numpy.reductions import max as max_
from tans_numpy.reductions import min as min_
from tans_numpy.reductions import prod, sum
from tans_numpy.selection import where as choose
from tans_numpy.ufuncs.comparison import as_bool
from tans_numpy.ufuncs.universal import ufunc
from tans_xla import composite

type Array = Any

_TOTALS: Final = {"add": sum, "multiply": prod}
_EXTREMA: Final = {"maximum": max_, "minimum": min_}
_TRUTHS: Final = {"logical_and": all_, "logical_or": any_}
_LOGS: Final = {"logaddexp": 1.0, "logaddexp2": float(np.log(2))}
_BITS: Final = {
    "bitwise_and": lax.reduce_and, "bitwise_or": lax.reduce_or, "bitwise_xor": lax.reduce_xor,
}  # fmt: skip
_RUNNING: Final = {"add": cumsum, "multiply": cumprod}
_RUNNING_LAX: Final = {
    "maximum": lax.cummax, "minimum": lax.cummin, "logaddexp": lax.cumlogsumexp,
}  # fmt: skip


def _builtin(f: ufunc, table: dict[str, Any]) -> Any:
    """Return the entry of one of the package's own ufuncs."""
    return table.get(f.__name__) if f.is_builtin else None


def _typed(a: Any, dtype: Any, what: str) -> Array:
    a = asarray(a)
    return a if dtype is None else astype(a, requested_dtype(dtype, what))


def made(f: ufunc, method: str) -> Any:
    """Return a method of one ufunc, with the ufunc put in.

    A composite of its own looks known calls up without the ufunc among the static arguments, whose
    hash and comparison are functions of Python.
    """
    own = f._own.get(method)

    def reduce(
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        _check(f, "reduce", out, a)
        if own is not None:
            return own(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        return _reduce(a, initial, where, f=f, axis=axis, dtype=dtype, keepdims=bool(keepdims))

    def accumulate(a: Any, axis: Any = 0, dtype: Any = None, out: None = None) -> Array:
        _check(f, "accumulate", out, a)
        if own is not None:
            return own(a, axis=axis, dtype=dtype)
        return _accumulate(a, f=f, axis=axis, dtype=dtype)

    def reduceat(a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        _check(f, "reduceat", out, a, indices)
        if own is not None:
            return own(a, indices, axis=axis, dtype=dtype)
        return _reduceat(a, indices, f=f, axis=axis, dtype=dtype)

    def outer(a: Any, b: Any) -> Array:
        _check(f, "outer", None, a, b)
        return _outer(f, a, b)

    fun, statics = {
        "reduce": (reduce, ("axis", "dtype", "out", "keepdims")),
        "accumulate": (accumulate, ("axis", "dtype", "out")),
        "reduceat": (reduceat, ("axis", "dtype", "out")),
        "outer": (outer, ()),
    }[method]
    return composite(fun, static_argnames=statics) if own is None else fun


def _check(f: ufunc, method: str, out: Any, *arrays: Any) -> None:
    if out is not None:
        raise NotImplementedError(
            f"{f.__name__}.{method}: given out=, expected None; arrays can't be written "
            "to. Use the result."
        )
    check_arraylike(f"{f.__name__}.{method}", *arrays)


def _reduce(
    a: Any, initial: Any, where: Any, *, f: ufunc, axis: Any, dtype: Any, keepdims: bool
) -> Array:
    if isinstance(axis, int):
        canonicalize_axis(axis, typeof(a).ndim, f"{f.__name__}.reduce")
    if (total := _builtin(f, _TOTALS)) is not None:
        return total(a, axis, dtype, None, keepdims, initial, where)
    a = _typed(a, dtype, f"{f.__name__}.reduce")
    if where is not None and initial is None and f.identity is None:
        raise ValueError(
            f"{f.__name__}.reduce: given where= for a function without identity, expected a first "
            "operand. Give initial=."
        )
    if (extremum := _builtin(f, _EXTREMA)) is not None:
        return extremum(a, axis, None, keepdims, initial, where)
    if (truth := _builtin(f, _TRUTHS)) is not None:
        out = truth(a, axis, keepdims=keepdims, where=where)
        return out if initial is None else f(initial, out)
    if (scale := _builtin(f, _LOGS)) is not None:
        scaled = logsumexp(a * scale, axis, keepdims=keepdims, where=where)
        out = scaled if scale == 1 else scaled / scale
        return out if initial is None else f(initial, out)
    if (bits := _builtin(f, _BITS)) is not None:
        return _bits(a, initial, where, f=f, fold=bits, axis=axis, keepdims=keepdims)
    if isinstance(axis, tuple | list):
        raise NotImplementedError(
            f"{f.__name__}.reduce: given axis={axis}; expected an int or None, since the order of "
            "the elements matters. Flatten the dimensions first."
        )
    kept = typeof(a).shape
    if axis is None:
        a, where = ravel(a), where if where is None else ravel(broadcast_to(where, kept))
    axis_ = 0 if axis is None else canonicalize_axis(axis, typeof(a).ndim, f"{f.__name__}.reduce")
    out = _fold(a, initial, where, f=f, axis=axis_)
    if not keepdims:
        return out
    dims = tuple(1 if axis in (None, k) or k == axis_ else n for k, n in enumerate(kept))
    return reshape(out, dims)


def _bits(
    a: Array, initial: Any, where: Any, *, f: ufunc, fold: Any, axis: Any, keepdims: bool
) -> Array:
    shape = typeof(a).shape
    axes = canonicalize_axes(axis, len(shape), f"{f.__name__}.reduce")
    dtype = _result_dtype(f, a)  # refuses floats
    if where is not None:
        a = choose(where, a, np.asarray(f.identity).astype(dtype))
    out = fold(strong(a), axes)
    if keepdims:
        out = reshape(out, tuple(1 if d in axes else n for d, n in enumerate(shape)))
    return out if initial is None else f(astype(asarray(initial), dtype), out)


def _result_dtype(f: ufunc, a: Array) -> Any:
    one = lax.full((), 0, typeof(a).dtype)
    return typeof(f.inline(one, one)).dtype


def _fold(a: Array, initial: Any, where: Any, *, f: ufunc, axis: int) -> Array:
    dtype = _result_dtype(f, a)
    rows = moveaxis(a, axis, 0)
    size, *dims = typeof(rows).shape
    mask = None if where is None else moveaxis(broadcast_to(where, typeof(a).shape), axis, 0)
    first: Any = f.identity if initial is None and (size == 0 or where is not None) else initial
    if first is None and size == 0:
        raise ValueError(
            f"{f.__name__}.reduce: given a dimension of size 0, and the function has no identity. "
            "Give initial=."
        )
    if first is None:
        first, rows = rows[0], rows[1:]
    start = broadcast_to(astype(asarray(first), dtype), tuple(dims))

    def step(total: Any, operands: Any) -> Any:
        row, counts = operands
        new = astype(asarray(f.inline(total, row)), dtype)
        return (new if counts is None else choose(counts, new, total)), None

    return lax.scan(step, start, (rows, mask))[0]


def _accumulate(a: Any, *, f: ufunc, axis: Any, dtype: Any) -> Array:
    a = asarray(a)
    if a.ndim == 0:
        raise ValueError(
            f"{f.__name__}.accumulate: given a scalar, expected at least one dimension. Reshape it "
            "to (1,)."
        )
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, a.ndim, f"{f.__name__}.accumulate")
    if (running := _builtin(f, _RUNNING)) is not None:
        return running(a, axis, dtype)
    a = _typed(a, dtype, f"{f.__name__}.accumulate")
    if (running := _builtin(f, _RUNNING_LAX)) is not None and a.dtype.kind in "iuf":
        is_log = "log" in f.__name__
        return running(strong(promote_dtypes_inexact(f.__name__, a)[0]) if is_log else a, axis)
    return _run(a, f=f, axis=axis)


def _run(a: Array, *, f: ufunc, axis: int) -> Array:
    dtype = _result_dtype(f, a)
    rows = moveaxis(a, axis, 0)
    if typeof(rows).shape[0] == 0:
        return astype(a, dtype)

    def step(total: Any, row: Any) -> Any:
        new = astype(asarray(f.inline(total, row)), dtype)
        return new, new

    is_truth = dtype == np.bool_ and typeof(a).dtype != np.bool_
    first = as_bool(rows[0]) if is_truth else astype(rows[0], dtype)
    _, others = lax.scan(step, first, rows[1:])
    return moveaxis(lax.concatenate([first[None], others], 0), 0, axis)


def _reduceat(a: Any, indices: Any, *, f: ufunc, axis: int, dtype: Any) -> Array:
    a = _typed(a, dtype, f"{f.__name__}.reduceat")
    indices = asarray(indices)
    if indices.ndim != 1 or not issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{f.__name__}.reduceat: given indices of shape {indices.shape} and dtype "
            f"{indices.dtype}, expected a vector of integers."
        )
    axis = canonicalize_axis(axis, a.ndim, f"{f.__name__}.reduceat")
    dtype = _result_dtype(f, a)
    rows = moveaxis(a, axis, 0)
    size, *dims = typeof(rows).shape
    ends = lax.concatenate([indices[1:], lax.full((1,), size, typeof(indices).dtype)], 0)
    column = (-1, *(1 for _ in dims))

    def step(totals: Any, operands: Any) -> Any:
        k, row = operands
        inside = reshape((indices < k) & (k < ends), column)
        new = astype(asarray(f.inline(totals, row[None])), dtype)
        return choose(inside, new, totals), None

    firsts = astype(take(rows, indices, axis=0), dtype)
    places = lax.iota(typeof(indices).dtype, size)
    return moveaxis(lax.scan(step, firsts, (places, rows))[0], 0, axis)


def _outer(f: ufunc, a: Any, b: Any) -> Array:
    a, b = asarray(a), asarray(b)
    rows = reshape(a, (*a.shape, *(1 for _ in b.shape)))
    columns = reshape(b, (*(1 for _ in a.shape), *b.shape))
    return f(rows, columns)
