"""Reductions: sums, products, extrema, means; tests of all and any elements."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_lax.sizes import size_value
from tans_numpy.aliases import alias
from tans_numpy.creation import requested_dtype
from tans_numpy.dims import keep_dims
from tans_numpy.manipulation import broadcast_to
from tans_numpy.operands import ArrayLike, canonicalize_axes, check_arraylike, to_inexact
from tans_numpy.refusals import check_numbers, refuse_out
from tans_numpy.selection import where as choose
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite
from tans_xla.sizes import is_symbolic

type Array = Any
type Axis = Any

# Options of every reduction.
STATIC: Final = ("axis", "out", "keepdims")


def _axes(a: ArrayLike, axis: Axis, name: str) -> tuple[int, ...]:
    check_arraylike(name, a)
    return canonicalize_axes(axis, typeof(a).ndim, name)


def check_mask(name: str, where: Any) -> None:
    """Raise ValueError if `where` is given and does not hold booleans."""
    if where is None:
        return
    check_arraylike(name, where)
    if typeof(where).dtype != np.bool_:
        raise ValueError(
            f"{name}: given where= of type {typeof(where).str_short()}, expected booleans. Compare "
            "first, as in where=x != 0."
        )


def masked(a: Array, where: Any, fill: Any) -> Array:
    """Return `a` with `fill` where `where` is False; None is True everywhere."""
    if where is None:
        return a
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
    return as_typed(initial, dtype)


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


def wide_dtype(dtype: Any) -> Any:
    """Return the dtype that sums of `dtype` are accumulated in: half precision in single."""
    if dtype.itemsize == 2 and dtype.kind in "fV" and dtypes.is_inexact(dtype):
        return np.dtype(np.float32)
    return dtype


def as_typed(a: Array, dtype: Any) -> Array:
    """Convert to a dtype; the result of a reduction is never weak."""
    aval = typeof(a)
    return a if aval.dtype == dtype and not aval.weak_type else lax.convert_element_type(a, dtype)


def _reduce(
    a: Array, initial: Any, where: Any, *, axes: tuple, dtype: Any, keepdims: bool, kind: str
) -> Array:
    dims = typeof(a).shape
    if dtype is None:
        dtype = accumulation_dtype(typeof(a).dtype)
    check_numbers(kind, a)
    operation, unit, combine = (
        (lax.reduce_sum, 0, lax.add) if kind == "sum" else (lax.reduce_prod, 1, lax.mul)
    )
    if dtype == np.bool_:
        operation, combine = (
            (lax.reduce_or, lax.bitwise_or) if kind == "sum" else (lax.reduce_and, lax.bitwise_and)
        )
    a = masked(as_typed(a, dtype), where, dtype.type(unit))
    wide = wide_dtype(dtype)
    out = as_typed(operation(as_typed(a, wide), axes), dtype)
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
        check_mask(kind, where)
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
    return composite(static_argnames=(*STATIC, "dtype", "promote_integers"))(reduction)


sum = _sum_like("sum", "Add the elements.")
prod = _sum_like("prod", "Multiply the elements.")


def _extremum(
    a: Array, initial: Any, where: Any, *, axes: tuple, keepdims: bool, kind: str
) -> Array:
    aval = typeof(a)
    a = as_typed(a, aval.dtype)
    operation, combine = (lax.reduce_max, lax.max) if kind == "max" else (lax.reduce_min, lax.min)
    if where is not None:
        if initial is None:
            raise ValueError(
                f"{kind}: given where= without initial=, expected both: with nothing selected the "
                "result is undefined. Pass initial=."
            )
        start = _start(initial, aval.dtype, kind)
        a = masked(a, where, start if hasattr(start, "shape") else aval.dtype.type(start))
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
        check_mask(kind, where)
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
    return composite(static_argnames=STATIC)(reduction)


max = _extremum_like("max", "Return the largest element; nan if there is one.")
amax = alias(max, "amax")
min = _extremum_like("min", "Return the smallest element; nan if there is one.")
amin = alias(min, "amin")


def _logical(a: Array, where: Any, *, axes: tuple, keepdims: bool, kind: str) -> Array:
    dims = typeof(a).shape
    a = masked(as_typed(as_bool(a), np.dtype(bool)), where, np.bool_(kind == "all"))
    out = (lax.reduce_and if kind == "all" else lax.reduce_or)(a, axes)
    return keep_dims(out, dims, axes) if keepdims else out


@composite(static_argnames=STATIC)
def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
    where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Whether all elements differ from zero, along some dimensions or all."""
    refuse_out(out, "all")
    check_mask("all", where)
    return _logical(a, where, axes=_axes(a, axis, "all"), keepdims=bool(keepdims), kind="all")


@composite(static_argnames=STATIC)
def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
    where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Whether an element differs from zero, along some dimensions or all."""
    refuse_out(out, "any")
    check_mask("any", where)
    return _logical(a, where, axes=_axes(a, axis, "any"), keepdims=bool(keepdims), kind="any")


def typed_count(count: Any, dtype: Any) -> Any:
    """Return a count in a dtype; a symbolic one as a value of the program."""
    if is_symbolic(count):
        return size_value(count, dtype)
    return dtype.type(count)


def element_count(dims: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return how many elements some dimensions hold."""
    return math.prod([dims[i] for i in axes])


def mean_of(a: Array, where: Any, *, axes: tuple, dtype: Any, keepdims: bool) -> Array:
    """Return the mean of what `where` selects, along axes that were checked."""
    aval = typeof(a)
    result = to_inexact(aval.dtype) if dtype is None else dtype
    wide = wide_dtype(result)
    a = as_typed(a, wide)
    if where is None:
        total = lax.reduce_sum(a, axes)
        out = lax.div(total, typed_count(element_count(aval.shape, axes), wide))
    else:
        total = lax.reduce_sum(masked(a, where, wide.type(0)), axes)
        out = lax.div(total, as_typed(selected_count(where, aval.shape, axes), wide))
    out = as_typed(out, result)
    return keep_dims(out, aval.shape, axes) if keepdims else out


def number_dtype(name: str, dtype: Any, error: type[Exception] = TypeError) -> Any:
    """Return the dtype that is asked for, if one is; raise `error` for booleans."""
    if dtype is None:
        return None
    dtype = requested_dtype(dtype, name)
    if dtype == np.bool_:
        raise error(f"{name}: given dtype={dtype}, expected numbers. Compare the result with 0.")
    return dtype


def selected_count(where: Any, dims: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Return how many elements `where` selects."""
    mask = lax.convert_element_type(broadcast_to(where, dims), dtypes.default_int())
    return lax.reduce_sum(mask, axes)


@composite(static_argnames=(*STATIC, "dtype"))
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
    check_mask("mean", where)
    dtype = number_dtype("mean", dtype)
    return mean_of(a, where, axes=_axes(a, axis, "mean"), dtype=dtype, keepdims=bool(keepdims))
