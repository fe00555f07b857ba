"""Variances and standard deviations."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.dims import keep_dims
from tans_numpy.operands import ArrayLike, canonicalize_axes, check_arraylike, to_inexact
from tans_numpy.reductions import (
    STATIC,
    as_typed,
    check_mask,
    element_count,
    masked,
    mean_of,
    number_dtype,
    selected_count,
    typed_count,
    wide_dtype,
)
from tans_numpy.refusals import refuse_out
from tans_xla import composite

type Array = Any
type Axis = Any


def _var(
    a: Array, ddof: Any, mean: Any, where: Any, *, axes: tuple, dtype: Any, keepdims: bool
) -> Array:
    aval = typeof(a)
    result = to_inexact(aval.dtype if dtype is None else dtype)
    wide = wide_dtype(result)
    a = as_typed(a, wide)
    center = mean if mean is not None else mean_of(a, where, axes=axes, dtype=None, keepdims=True)
    center = as_typed(center, wide)
    deviation = lax.sub(a, center)
    if where is not None:  # before they are squared, which has a slope of nan at nan
        deviation = masked(deviation, where, wide.type(0))
    if dtypes.is_complex(wide):
        squares = lax.add(lax.square(lax.real(deviation)), lax.square(lax.imag(deviation)))
    else:
        squares = lax.square(deviation)
    real = typeof(squares).dtype
    result = real if dtypes.is_complex(result) and dtype is None else result
    if where is None:
        count = element_count(aval.shape, axes)
        total = lax.reduce_sum(squares, axes)
        divisor = typed_count(count - ddof, real) if type(ddof) in (int, float) else lax.sub(
            typed_count(count, real), as_typed(ddof, real)
        )  # fmt: skip
    else:
        total = lax.reduce_sum(squares, axes)
        count = as_typed(selected_count(where, aval.shape, axes), real)
        divisor = lax.sub(count, _number(ddof, real))
    out = as_typed(_ratio(total, divisor), result)
    return keep_dims(out, aval.shape, axes) if keepdims else out


def _number(x: Any, dtype: Any) -> Any:
    return dtype.type(x) if type(x) in (int, float) else as_typed(x, dtype)


def _ratio(total: Array, divisor: Any) -> Array:
    if isinstance(divisor, np.generic):
        if divisor > 0:
            return lax.div(total, divisor)
        return lax.full_like(total, np.nan)
    dims = typeof(total).shape
    positive = lax.gt(divisor, typeof(divisor).dtype.type(0))
    positive = positive if typeof(positive).shape == dims else lax.broadcast(positive, dims)
    return lax.select(positive, lax.div(total, divisor), lax.full_like(total, np.nan))


def check_variance_dtype(name: str, a: ArrayLike, dtype: Any) -> Any:
    """Return the dtype that is asked for.

    Raises:
      TypeError: booleans; for `std` and for complex numbers it is a ValueError.
      ValueError: a real dtype for complex numbers.
    """
    is_complex = dtypes.is_complex(typeof(a).dtype)
    error = ValueError if is_complex or name == "std" else TypeError
    dtype = number_dtype(name, dtype, error)
    if dtype is None:
        return None
    if is_complex and not dtypes.is_complex(dtype):
        raise ValueError(
            f"{name}: given dtype={dtype} for {typeof(a).str_short()}, expected a complex dtype or "
            "None: without one the result is real. Convert the result with astype."
        )
    return dtype


def _variance(
    name: str, a: Any, axis: Axis, dtype: Any, out: None, ddof: Any, keepdims: bool, where: Any,
    mean: Any, correction: Any,
) -> Array:  # fmt: skip
    refuse_out(out, name)
    check_arraylike(name, a)
    check_mask(name, where)
    dtype = check_variance_dtype(name, a, dtype)
    if correction is not None:
        if ddof:
            raise ValueError(
                f"{name}: given ddof={ddof} and correction={correction}, expected one of them: "
                "they mean the same."
            )
        ddof = correction
    axes = canonicalize_axes(axis, typeof(a).ndim, name)
    return _var(a, ddof, mean, where, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@composite(static_argnames=(*STATIC, "dtype", "ddof", "correction"), is_whole=True)
def var(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the variance along some dimensions: the mean squared deviation from the mean.

    Args:
      a: any shape; integers become the default float. Complex deviations count by their modulus.
      axis: int or ints to reduce; all if None.
      dtype: dtype of the result; integers give the default float. By default that of `a`, real.
      out: not supported.
      ddof: the divisor is the number of elements minus this.
      keepdims: keep reduced dimensions with size 1.
      where: booleans that broadcast to `a`; elements where it is False are left out.
      mean: the mean, with reduced dimensions of size 1, if it is known.
      correction: another name of `ddof`.

    Raises:
      ValueError: a real `dtype` for complex numbers, or both `ddof` and `correction`.
    """
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@composite(static_argnames=(*STATIC, "dtype", "ddof", "correction"), is_whole=True)
def std(
    a: ArrayLike, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:  # fmt: skip
    """Return the standard deviation along some dimensions: the root of `var`, same arguments."""
    return lax.sqrt(_variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction))
