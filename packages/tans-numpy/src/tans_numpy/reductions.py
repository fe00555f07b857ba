"""Reductions: sums, products, extrema, means, variances, and their nan-ignoring forms."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.creation import requested_dtype
from tans_numpy.dims import keep_dims
from tans_numpy.manipulation import broadcast_to
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    refuse_out,
    to_inexact,
)
from tans_numpy.selection import where as choose
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite

type Array = Any
type Axis = Any


def _axes(a: ArrayLike, axis: Axis, name: str) -> tuple[int, ...]:
    check_arraylike(name, a)
    return canonicalize_axes(axis, typeof(a).ndim, name)


def _masked(a: Array, where: Any, fill: Any) -> Array:
    if where is None:
        return a
    aval = typeof(where)
    if aval.dtype != np.bool_:
        raise ValueError(
            f"given where= of type {aval.str_short()}, expected booleans. Compare first, as in "
            "where=x != 0."
        )
    return choose(where, a, fill)


def _start(initial: Any, dtype: Any, kind: str) -> Any:
    """Return the value that a reduction starts with, in its dtype."""
    if not hasattr(initial, "shape"):
        return initial
    if initial.shape:
        raise ValueError(
            f"{kind}: given initial of shape {initial.shape}, expected a scalar. Combine the array "
            "with the result instead."
        )
    return _as_typed(initial, dtype)


def accumulation_dtype(dtype: Any) -> Any:
    """Return the dtype a sum has by default: bools and small ints become the default int."""
    kind = dtype.kind
    if kind in "fc":
        return dtype
    if kind == "b":
        return dtypes.default_int()
    if issubdtype(dtype, np.unsignedinteger):
        wide = dtypes.default_uint()
    elif issubdtype(dtype, np.integer):
        wide = dtypes.default_int()
    else:
        return dtype
    return dtype if dtype.itemsize >= wide.itemsize else wide


def _wide(dtype: Any) -> Any:
    """Return the dtype that sums of `dtype` are accumulated in: half precision in single."""
    if dtype.itemsize == 2 and dtype.kind in "fV" and dtypes.is_inexact(dtype):
        return np.dtype(np.float32)
    return dtype


def _as_typed(a: Array, dtype: Any) -> Array:
    """Convert to a dtype; the result of a reduction is never weak."""
    aval = typeof(a)
    return a if aval.dtype == dtype and not aval.weak_type else lax.convert_element_type(a, dtype)


@composite(static_argnames=("axes", "dtype", "keepdims", "kind"))
def _reduce(
    a: Array, initial: Any, where: Any, *, axes: tuple, dtype: Any, keepdims: bool, kind: str
) -> Array:
    dims = typeof(a).shape
    if dtype is None:
        dtype = accumulation_dtype(typeof(a).dtype)
    operation, unit, combine = (
        (lax.reduce_sum, 0, lax.add) if kind == "sum" else (lax.reduce_prod, 1, lax.mul)
    )
    if dtype == np.bool_:
        operation, combine = (
            (lax.reduce_or, lax.bitwise_or) if kind == "sum" else (lax.reduce_and, lax.bitwise_and)
        )
    a = _masked(_as_typed(a, dtype), where, dtype.type(unit))
    wide = _wide(dtype)
    out = _as_typed(operation(_as_typed(a, wide), axes), dtype)
    if initial is not None:
        out = combine(out, _start(initial, dtype, kind))
    return keep_dims(out, dims, axes) if keepdims else out


def _sum_like(kind: str, summary: str) -> Callable[..., Array]:
    def reduction(
        a: ArrayLike,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        refuse_out(out, kind)
        axes = _axes(a, axis, kind)
        if dtype is not None:
            dtype = requested_dtype(dtype, kind)
        elif not promote_integers and typeof(a).dtype != np.bool_:
            dtype = typeof(a).dtype
        return _reduce(
            a, initial, where, axes=axes, dtype=dtype, keepdims=bool(keepdims), kind=kind
        )

    reduction.__name__ = reduction.__qualname__ = kind
    reduction.__doc__ = f"""{summary}

    Args:
      a: any shape.
      axis: int or ints to reduce; all if None.
      dtype: dtype of the result and the accumulation; booleans and small integers become the
        default integer if None.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.
      initial: value to start with.
      where: booleans that broadcast to `a`; elements where it is False are left out.
      promote_integers: whether small integers become the default integer.
    """
    return reduction


sum = _sum_like("sum", "Add the elements.")
prod = _sum_like("prod", "Multiply the elements.")


@composite(static_argnames=("axes", "keepdims", "kind"))
def _extremum(
    a: Array, initial: Any, where: Any, *, axes: tuple, keepdims: bool, kind: str
) -> Array:
    aval = typeof(a)
    a = _as_typed(a, aval.dtype)
    operation, combine = (lax.reduce_max, lax.max) if kind == "max" else (lax.reduce_min, lax.min)
    if where is not None:
        if initial is None:
            raise ValueError(
                f"{kind}: given where= without initial=, expected both: with nothing selected the "
                "result is undefined. Pass initial=."
            )
        start = _start(initial, aval.dtype, kind)
        a = _masked(a, where, start if hasattr(start, "shape") else aval.dtype.type(start))
    if initial is None:
        empty = [i for i in axes if aval.shape[i] == 0]
        if empty:
            raise ValueError(
                f"{kind}: given an array with shape {aval.shape}, whose dimension {empty[0]} is "
                "empty; expected at least one element. Pass initial=."
            )
    out = operation(a, axes)
    if initial is not None:
        out = combine(out, _start(initial, aval.dtype, kind))
    return keep_dims(out, aval.shape, axes) if keepdims else out


def _extremum_like(kind: str, summary: str) -> Callable[..., Array]:
    def reduction(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        refuse_out(out, kind)
        axes = _axes(a, axis, kind)
        return _extremum(a, initial, where, axes=axes, keepdims=bool(keepdims), kind=kind)

    reduction.__name__ = reduction.__qualname__ = kind
    reduction.__doc__ = f"""{summary}

    Args:
      a: any shape; not empty along the reduced dimensions unless `initial` is given.
      axis: int or ints to reduce; all if None.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.
      initial: value to start with.
      where: booleans that broadcast to `a`; needs `initial`.

    Raises:
      ValueError: nothing to reduce, or `where` without `initial`.
    """
    return reduction


max = amax = _extremum_like("max", "Return the largest element; nan if there is one.")
min = amin = _extremum_like("min", "Return the smallest element; nan if there is one.")


@composite(static_argnames=("axes", "keepdims", "kind"))
def _logical(a: Array, where: Any, *, axes: tuple, keepdims: bool, kind: str) -> Array:
    dims = typeof(a).shape
    a = _masked(_as_typed(as_bool(a), np.dtype(bool)), where, np.bool_(kind == "all"))
    out = (lax.reduce_and if kind == "all" else lax.reduce_or)(a, axes)
    return keep_dims(out, dims, axes) if keepdims else out


def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
    where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Whether all elements differ from zero, along some dimensions or all."""
    refuse_out(out, "all")
    return _logical(a, where, axes=_axes(a, axis, "all"), keepdims=bool(keepdims), kind="all")


def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
    where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Whether an element differs from zero, along some dimensions or all."""
    refuse_out(out, "any")
    return _logical(a, where, axes=_axes(a, axis, "any"), keepdims=bool(keepdims), kind="any")


def _typed_count(count: Any, dtype: Any) -> Any:
    """Return a count in a dtype; a symbolic one as a value of the program."""
    if hasattr(count, "size_emitter"):
        return lax.convert_element_type(count.__jax_array__(), dtype)
    return dtype.type(count)


def _count(dims: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([dims[i] for i in axes])


@composite(static_argnames=("axes", "dtype", "keepdims"))
def _mean(a: Array, where: Any, *, axes: tuple, dtype: Any, keepdims: bool) -> Array:
    aval = typeof(a)
    result = to_inexact(aval.dtype) if dtype is None else dtype
    wide = _wide(result)
    a = _as_typed(a, wide)
    if where is None:
        total = lax.reduce_sum(a, axes)
        out = lax.div(total, _typed_count(_count(aval.shape, axes), wide))
    else:
        total = lax.reduce_sum(_masked(a, where, wide.type(0)), axes)
        out = lax.div(total, _as_typed(_selected(where, aval.shape, axes), wide))
    out = _as_typed(out, result)
    return keep_dims(out, aval.shape, axes) if keepdims else out


def _selected(where: Any, dims: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    mask = lax.convert_element_type(broadcast_to(where, dims), dtypes.default_int())
    return lax.reduce_sum(mask, axes)


def mean(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    *, where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the mean along some dimensions.

    Args:
      a: any shape; integers become the default float.
      axis: int or ints to reduce; all if None.
      dtype: dtype of the result.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.
      where: booleans that broadcast to `a`; elements where it is False are left out.
    """
    refuse_out(out, "mean")
    dtype = None if dtype is None else requested_dtype(dtype, "mean")
    return _mean(a, where, axes=_axes(a, axis, "mean"), dtype=dtype, keepdims=bool(keepdims))


@composite(static_argnames=("axes", "dtype", "keepdims"))
def _var(
    a: Array, ddof: Any, mean: Any, where: Any, *, axes: tuple, dtype: Any, keepdims: bool
) -> Array:
    aval = typeof(a)
    result = to_inexact(aval.dtype if dtype is None else dtype)
    wide = _wide(result)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(wide):
        wide = np.promote_types(aval.dtype, wide)
    a = _as_typed(a, wide)
    center = mean if mean is not None else _mean(a, where, axes=axes, dtype=None, keepdims=True)
    center = _as_typed(center, wide)
    deviation = lax.sub(a, center)
    if dtypes.is_complex(wide):
        squares = lax.add(lax.square(lax.real(deviation)), lax.square(lax.imag(deviation)))
    else:
        squares = lax.square(deviation)
    real = typeof(squares).dtype
    result = real if dtypes.is_complex(result) else result
    if where is None:
        count = _count(aval.shape, axes)
        total = lax.reduce_sum(squares, axes)
        divisor = _typed_count(count - ddof, real) if type(ddof) in (int, float) else lax.sub(
            _typed_count(count, real), _as_typed(ddof, real)
        )  # fmt: skip
    else:
        total = lax.reduce_sum(_masked(squares, where, real.type(0)), axes)
        divisor = lax.sub(_as_typed(_selected(where, aval.shape, axes), real), _number(ddof, real))
    out = _as_typed(_ratio(total, divisor), result)
    return keep_dims(out, aval.shape, axes) if keepdims else out


def _number(x: Any, dtype: Any) -> Any:
    return dtype.type(x) if type(x) in (int, float) else _as_typed(x, dtype)


def _ratio(total: Array, divisor: Any) -> Array:
    if isinstance(divisor, np.generic):
        if divisor > 0:
            return lax.div(total, divisor)
        return lax.full_like(total, np.nan)
    dims = typeof(total).shape
    positive = lax.gt(divisor, typeof(divisor).dtype.type(0))
    positive = positive if typeof(positive).shape == dims else lax.broadcast(positive, dims)
    return lax.select(positive, lax.div(total, divisor), lax.full_like(total, np.nan))


def var(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the variance along some dimensions: the mean squared deviation from the mean.

    Args:
      a: any shape; integers become the default float. Complex deviations count by their modulus.
      axis: int or ints to reduce; all if None.
      dtype: dtype of the result.
      out: not supported.
      ddof: the divisor is the number of elements minus this.
      keepdims: keep reduced dimensions with size 1.
      where: booleans that broadcast to `a`; elements where it is False are left out.
      mean: the mean, with reduced dimensions of size 1, if it is known.
      correction: another name of `ddof`.
    """
    refuse_out(out, "var")
    dtype = None if dtype is None else requested_dtype(dtype, "var")
    if correction is not None:
        if ddof:
            raise ValueError(
                f"var: given ddof={ddof} and correction={correction}, expected one of them: they "
                "mean the same."
            )
        ddof = correction
    axes = _axes(a, axis, "var")
    return _var_entry(a, mean, where, ddof, axes, dtype, bool(keepdims))


def _var_entry(
    a: Any, mean: Any, where: Any, ddof: Any, axes: tuple, dtype: Any, keepdims: bool
) -> Array:
    if type(ddof) in (int, float):
        return _var_static(a, mean, where, ddof=ddof, axes=axes, dtype=dtype, keepdims=keepdims)
    return _var(a, ddof, mean, where, axes=axes, dtype=dtype, keepdims=keepdims)


@composite(static_argnames=("ddof", "axes", "dtype", "keepdims"))
def _var_static(
    a: Any, mean: Any, where: Any, *, ddof: Any, axes: tuple, dtype: Any, keepdims: bool
) -> Array:
    return _var.inline(a, ddof, mean, where, axes=axes, dtype=dtype, keepdims=keepdims)


def std(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the standard deviation along some dimensions: the root of `var`, same arguments."""
    return lax.sqrt(
        var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    )
