"""Weighted means, covariances and correlations of samples."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.contractions import dot
from tans_numpy.creation import asarray, requested_dtype
from tans_numpy.joining import concatenate
from tans_numpy.manipulation import broadcast_to, reshape, squeeze
from tans_numpy.nan_reductions import ptp
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
)
from tans_numpy.reductions import mean as mean_
from tans_numpy.reductions import sum as sum_
from tans_xla import composite

__all__ = ("average", "corrcoef", "cov", "ptp")

type Array = Any
type Axis = Any


@composite(static_argnames=("axis", "returned", "keepdims"))
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the weighted mean along some dimensions.

    Args:
      a: any shape; integers become the default float.
      axis: int or ints to reduce; all if None.
      weights: the shape of `a`, or its sizes along `axis`; equal if None.
      returned: also return the sums of the weights.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: the shape of the weights does not fit.
    """
    check_arraylike("average", *(v for v in (a, weights) if v is not None))
    axes = canonicalize_axes(axis, typeof(a).ndim, "average")
    if weights is not None:
        _check_weights(typeof(a).shape, typeof(weights).shape, axes)
    mean, total = _average(a, weights, axes=axes, returned=bool(returned), keepdims=bool(keepdims))
    return (mean, total) if returned else mean


def _check_weights(dims: tuple, given: tuple, axes: tuple[int, ...]) -> None:
    if given not in (dims, tuple(dims[i] for i in axes)):
        raise ValueError(
            f"average: given weights of shape {given} for an array of shape {dims} and axes {axes},"
            f" expected the shape {dims} or {tuple(dims[i] for i in axes)}."
        )


def _average(
    a: Any, weights: Any, *, axes: tuple[int, ...], returned: bool, keepdims: bool
) -> tuple[Array, Any]:
    if weights is None:
        mean = mean_(a, axes, keepdims=keepdims)
        count = np.prod([typeof(a).shape[i] for i in axes], dtype=np.int64)
        return mean, lax.full_like(mean, count) if returned else None
    a, weights = promote_dtypes_inexact("average", a, weights)
    dims = typeof(a).shape
    if typeof(weights).shape != dims:
        sizes = tuple(n if i in axes else 1 for i, n in enumerate(dims))
        weights = lax.broadcast_in_dim(weights, sizes, tuple(sorted(axes)))
        weighted = lax.mul(a, broadcast_to(weights, dims))
    else:
        weighted = lax.mul(a, weights)
    total = sum_(weights, axes, keepdims=keepdims)
    mean = lax.div(sum_(weighted, axes, keepdims=keepdims), _fit(total, weighted, axes, keepdims))
    return mean, _fit(total, weighted, axes, keepdims) if returned else None


def _fit(total: Array, weighted: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    dims = tuple(
        1 if i in axes else n
        for i, n in enumerate(typeof(weighted).shape)
        if keepdims or i not in axes
    )
    return total if typeof(total).shape == dims else broadcast_to(total, dims)


@composite(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False,
    ddof: int | None = None, fweights: ArrayLike | None = None, aweights: ArrayLike | None = None,
    dtype: Any = None,
) -> Array:  # fmt: skip
    """Return the covariance matrix of variables.

    Args:
      m: samples [variables, observations], or [observations].
      y: further variables, as `m`.
      rowvar: whether rows are variables; else columns.
      bias: divide by the number of observations instead of one less.
      ddof: the divisor is the number of observations minus this.
      fweights: how often each observation counts: integers [observations].
      aweights: importance of each observation [observations].
      dtype: dtype of the result.

    Returns:
      [variables, variables]; a scalar for one variable.

    Raises:
      ValueError: more than two dimensions, or weights that do not fit.
    """
    given = [v for v in (m, y, fweights, aweights) if v is not None]
    check_arraylike("cov", *given)
    if any(typeof(v).ndim > 2 for v in given[: 1 if y is None else 2]):
        raise ValueError("cov: given samples of more than two dimensions, expected one or two.")
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None and typeof(w).ndim > 1:
            raise ValueError(
                f"cov: given {name} of {typeof(w).ndim} dimensions, expected a vector."
            )
    if fweights is not None and typeof(fweights).dtype.kind not in "iu":
        raise TypeError(f"cov: given fweights of {typeof(fweights).dtype}, expected integers.")
    ddof = (0 if bias else 1) if ddof is None else ddof
    dtype = None if dtype is None else requested_dtype(dtype, "cov")
    return _cov(m, y, fweights, aweights, rowvar=bool(rowvar), ddof=ddof, dtype=dtype)


def _cov(
    m: Any, y: Any, fweights: Any, aweights: Any, *, rowvar: bool, ddof: float, dtype: Any
) -> Array:
    parts = promote_dtypes_inexact("cov", *(v for v in (m, y) if v is not None))
    if dtype is not None:
        parts = [lax.convert_element_type(p, dtype) for p in parts]
    rows = [_as_rows(p, rowvar) for p in parts]
    x = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    dtype = typeof(x).dtype
    real = dtype.type(0).real.dtype
    weights = _weights(fweights, aweights, real)
    n = typeof(x).shape[1]
    if weights is None:
        center: Any = mean_(x, 1, keepdims=True)
        divisor: Any = lax.convert_element_type(n - ddof if n else np.nan, real)
        deviation = x - center
        other = deviation
    else:
        total = sum_(weights)
        center = sum_(x * weights, 1, keepdims=True) / total
        divisor = total - ddof
        if aweights is not None and ddof:
            divisor = total - ddof * sum_(weights * aweights) / total
        deviation = x - center
        other = deviation * weights
    conjugate = lax.conj(other) if dtypes.is_complex(dtype) else other
    out = dot(deviation, conjugate.T) / divisor
    return squeeze(out)


def _as_rows(x: Any, rowvar: bool) -> Array:
    if typeof(x).ndim < 2:
        return reshape(x, (1, -1))
    return x if rowvar or typeof(x).shape[0] == 1 else asarray(x).T


def _weights(fweights: Any, aweights: Any, dtype: Any) -> Any:
    given = [lax.convert_element_type(w, dtype) for w in (fweights, aweights) if w is not None]
    if not given:
        return None
    return given[0] if len(given) == 1 else lax.mul(*given)


@composite(static_argnames=("rowvar", "dtype"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: Any = None
) -> Array:
    """Return Pearson's correlation coefficients of variables.

    Args:
      x: samples [variables, observations], or [observations].
      y: further variables, as `x`.
      rowvar: whether rows are variables; else columns.
      dtype: dtype of the result.

    Returns:
      [variables, variables]; a scalar for one variable.
    """
    check_arraylike("corrcoef", *(v for v in (x, y) if v is not None))
    return _normalised(cov(x, y, rowvar, dtype=dtype))


def _normalised(c: Array) -> Array:
    if not typeof(c).ndim:
        return lax.div(c, c)
    deviations = lax.sqrt(lax.real(c.diagonal())) if dtypes.is_complex(typeof(c).dtype) else (
        lax.sqrt(c.diagonal())
    )  # fmt: skip
    out = c / deviations[:, None] / deviations[None, :]
    if dtypes.is_complex(typeof(out).dtype):
        # Rounding must not bring a coefficient out of the unit square.
        return lax.complex(lax.real(out).clip(-1, 1), lax.imag(out).clip(-1, 1))
    return out.clip(-1, 1)
