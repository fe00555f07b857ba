"""Reductions that leave out nan, and the range of values: nansum, nanmean, ptp, minmax, ..."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy import reductions, variances
from tans_numpy.dims import repeat_to
from tans_numpy.operands import ArrayLike, canonicalize_axes, check_arraylike, strong
from tans_numpy.reductions import STATIC, keep_dims
from tans_numpy.refusals import refuse_out
from tans_numpy.selection import where as choose
from tans_numpy.ufuncs.predicates import isnan
from tans_xla import composite

type Array = Any
type Axis = Any

_ARGS = """
    Args:
      a: any shape; integers have no nan.
      axis: int or ints to reduce; all if None.
      {dtype}out: not supported.
      {ddof}keepdims: keep reduced dimensions with size 1.
      {initial}where: booleans that broadcast to `a`; elements where it is False are left out.
"""


def _described(function: Any, name: str, summary: str, **parts: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary + "\n" + _ARGS.format_map({
        "dtype": "", "ddof": "", "initial": "", **parts
    })  # fmt: skip


_DTYPE = "dtype: dtype of the result and the accumulation.\n      "
_DDOF = "ddof: the divisor is the number of elements minus this.\n      "
_INITIAL = "initial: value to start with.\n      "


def _without_nan(a: Any, fill: Any) -> Any:
    if not dtypes.is_inexact(typeof(a).dtype):
        return a
    return choose(isnan(a), fill, a)


def _sum_like(name: str, reduce: Callable[..., Array], unit: int, summary: str) -> Any:
    def reduction(
        a: ArrayLike,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        check_arraylike(name, a)
        reductions.check_mask(name, where)
        a = _without_nan(a, unit)
        return reduce(a, axis, dtype, out, keepdims, initial, where)

    _described(reduction, name, summary, dtype=_DTYPE, initial=_INITIAL)
    return composite(static_argnames=(*STATIC, "dtype"))(reduction)


nansum = _sum_like("nansum", reductions.sum, 0, "Add the elements that are not nan.")
nanprod = _sum_like("nanprod", reductions.prod, 1, "Multiply the elements that are not nan.")


def _nan_extremum(
    a: Array, initial: Any, where: Any, *, axes: tuple, keepdims: bool, kind: str
) -> Array:
    reduce = reductions.max if kind == "max" else reductions.min
    if not dtypes.is_inexact(typeof(a).dtype):
        return reduce(a, axes, None, keepdims, initial, where)
    missing = isnan(a)
    worst = -np.inf if kind == "max" else np.inf
    out = reduce(choose(missing, worst, a), axes, None, keepdims, initial, where)
    if initial is not None:
        return out
    nothing = reductions.all(missing, axes, None, keepdims, where=where)
    return choose(nothing, np.nan, out)


def _extremum_like(name: str, kind: str, summary: str) -> Any:
    def reduction(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        check_arraylike(name, a)
        refuse_out(out, name)
        reductions.check_mask(name, where)
        axes = canonicalize_axes(axis, typeof(a).ndim, name)
        return _nan_extremum(a, initial, where, axes=axes, keepdims=bool(keepdims), kind=kind)

    _described(reduction, name, summary, initial=_INITIAL)
    return composite(static_argnames=STATIC)(reduction)


nanmax = _extremum_like(
    "nanmax", "max", "Return the largest element that is not nan; nan if all are."
)
nanmin = _extremum_like(
    "nanmin", "min", "Return the smallest element that is not nan; nan if all are."
)


def _present(a: Any, where: Any) -> Any:
    """Return where elements count: not nan, and selected."""
    there = lax.bitwise_not(isnan(a))
    return there if where is None else lax.bitwise_and(
        there, repeat_to(where, typeof(a).shape)
    )  # fmt: skip


@composite(static_argnames=(*STATIC, "dtype"))
def nanmean(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the mean of the elements that are not nan; nan if all are.

    Args:
      a: any shape; integers have no nan.
      axis: int or ints to reduce; all if None.
      dtype: dtype of the result.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.
      where: booleans that broadcast to `a`; elements where it is False are left out.
    """
    check_arraylike("nanmean", a)
    reductions.check_mask("nanmean", where)
    if dtypes.is_inexact(typeof(a).dtype):
        where = _present(a, where)
    return reductions.mean(a, axis, dtype, out, keepdims, where=where)


@composite(static_argnames=(*STATIC, "dtype", "ddof"))
def nanvar(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the variance of the elements that are not nan; see `var` for the arguments.

    It is computed in floating point and then converted to `dtype`, which may be an integer dtype.
    """
    return _nan_variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean)


def _nan_variance(
    name: str, a: Any, axis: Axis, dtype: Any, out: None, ddof: Any, keepdims: bool, where: Any,
    mean: Any,
) -> Array:  # fmt: skip
    check_arraylike(name, a)
    reductions.check_mask(name, where)
    target = variances.check_variance_dtype(name, a, dtype)
    if dtypes.is_inexact(typeof(a).dtype):
        where = _present(a, where)
    if target is None or target.kind not in "iu":
        return variances.var(a, axis, target, out, ddof, keepdims, where=where, mean=mean)
    found = variances.var(a, axis, None, out, ddof, keepdims, where=where, mean=mean)
    return lax.convert_element_type(found, target)


@composite(static_argnames=(*STATIC, "dtype", "ddof"))
def nanstd(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return the root of `nanvar`, same arguments."""
    return lax.sqrt(_nan_variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean))


@composite(static_argnames=STATIC)
def minmax(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: ArrayLike | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the smallest and the largest element; arguments as for `max`.

    Args:
      a: any shape; not empty along the reduced dimensions unless `initial` is given.
      axis: int or ints to reduce; all if None.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.
      initial: value to start with, or a pair of values.
      where: booleans that broadcast to `a`; needs `initial`.
    """
    reductions.check_mask("minmax", where)
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return (
        reductions.min(a, axis, out, keepdims, low, where),
        reductions.max(a, axis, out, keepdims, high, where),
    )


@composite(static_argnames=STATIC)
def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Return the largest minus the smallest element.

    Args:
      a: any shape, numeric; not empty along the reduced dimensions.
      axis: int or ints to reduce; all if None.
      out: not supported.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      TypeError: booleans.
      ValueError: nothing to reduce.
    """
    refuse_out(out, "ptp")
    check_arraylike("ptp", a)
    if typeof(a).dtype == np.bool_:
        raise TypeError("ptp: given booleans, expected numbers. Convert them: x.astype(int).")
    axes = canonicalize_axes(axis, typeof(a).ndim, "ptp")
    if any(typeof(a).shape[i] == 0 for i in axes):
        raise ValueError(
            f"ptp: given an array of shape {typeof(a).shape}, expected at least one element to "
            "reduce. Check the size first."
        )
    a = strong(a)
    out = lax.sub(lax.reduce_max(a, axes), lax.reduce_min(a, axes))
    return keep_dims(out, typeof(a).shape, axes) if keepdims else out
