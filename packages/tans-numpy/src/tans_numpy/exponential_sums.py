"""Sums of exponentials that do not overflow: logsumexp, softmax, log_softmax.

The terms are divided by the largest one first. That factor is a constant for differentiation: the
result does not depend on it.
"""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import finfo
from tans_numpy.manipulation import broadcast_arrays
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
    strong,
)
from tans_numpy.reductions import keep_dims
from tans_numpy.selection import where as choose
from tans_xla import composite

type Array = Any
type Axis = Any


def _largest(a: Array, axes: tuple[int, ...]) -> Array:
    """Return the largest exponent along `axes`."""
    a = lax.stop_gradient(a)
    return lax.reduce_max(lax.real(a) if dtypes.is_complex(typeof(a).dtype) else a, axes)


def _logsumexp(
    a: Any, b: Any, where: Any, *, axes: tuple[int, ...], keepdims: bool, return_sign: bool
) -> Any:
    if where is not None:
        a = choose(where, a, typeof(a).dtype.type(-np.inf))
        b = b if b is None else choose(where, b, typeof(b).dtype.type(0))
    largest = _largest(a if b is None else choose(b != 0, a, -np.inf), axes)
    # An infinite factor would turn the terms into nan.
    finite = choose(lax.is_finite(largest), largest, typeof(largest).dtype.type(0))
    dims = typeof(a).shape
    shifted = _minus(a, keep_dims(finite, dims, axes))
    if b is None:
        terms = lax.exp(shifted)
    else:
        if not dtypes.is_complex(typeof(a).dtype):
            # Only terms with b = 0 are above 0 here; their slope in b must not be inf * 0.
            dtype = typeof(a).dtype
            shifted = lax.min(shifted, dtype.type(np.log(float(finfo(dtype).max)) - 1))
        terms = lax.mul(b, lax.exp(shifted))
    total = lax.reduce_sum(terms, axes)
    if keepdims:
        total, finite = keep_dims(total, dims, axes), keep_dims(finite, dims, axes)
    if return_sign:
        return lax.add(lax.log(lax.abs(total)), finite), lax.sign(total)
    return _plus(lax.log(total), finite)


def _minus(a: Array, shift: Array) -> Array:
    return a - shift if dtypes.is_complex(typeof(a).dtype) else lax.sub(a, shift)


def _plus(a: Array, shift: Array) -> Array:
    return a + shift if dtypes.is_complex(typeof(a).dtype) else lax.add(a, shift)


@composite(static_argnames=("axis", "keepdims", "return_sign"), is_whole=True)
def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False,
    return_sign: bool = False, where: ArrayLike | None = None,
) -> Any:  # fmt: skip
    """Compute ``log(sum(b * exp(a)))`` without overflow.

    Args:
      a: exponents, any shape, real or complex; integers become the default float.
      axis: int or ints to reduce; all if None.
      b: factor of each term, broadcast against `a`; may be negative or 0.
      keepdims: keep reduced dimensions with size 1.
      return_sign: return ``(log(abs(sum)), sign(sum))`` instead of nan for negative sums.
      where: booleans that broadcast to `a`; terms where it is False are left out.

    Returns:
      Array of the shape of `a` without `axis`; with `return_sign` a pair of such arrays.

    Raises:
      ValueError: an axis is out of range or given twice.

    Example:
      >>> round(float(logsumexp(jnp.array([1000.0, 1000.0]))), 3)
      1000.693

    References:
      Blanchard, Higham, Higham, "Accurately computing the log-sum-exp and softmax functions", 2021.
    """
    if b is None:
        (a,) = promote_dtypes_inexact("logsumexp", a)
    else:
        a, b = broadcast_arrays(*promote_dtypes_inexact("logsumexp", a, b))
    a = lax.convert_element_type(a, typeof(a).dtype)  # a weak type ends here
    axes = canonicalize_axes(axis, typeof(a).ndim, "logsumexp")
    return _logsumexp(
        a, b, where, axes=axes, keepdims=bool(keepdims), return_sign=bool(return_sign)
    )


@composite(static_argnames=("axis",), is_whole=True)
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Compute ``exp(x) / sum(exp(x))`` without overflow.

    Args:
      x: any shape, real or complex; integers become the default float.
      axis: int or ints along which the result sums to 1.
      where: booleans that broadcast to `x`; elements where it is False are left out and become 0.

    Returns:
      Array of the shape of `x`.

    Raises:
      ValueError: an axis is out of range or given twice.

    Example:
      >>> softmax(jnp.array([0.0, 0.0])).tolist()
      [0.5, 0.5]
    """
    x, axes = _checked("softmax", x, axis)
    shifted, dims = _shifted(x, where, axes), typeof(x).shape
    terms = lax.exp(shifted)
    if where is None:
        return lax.div(terms, keep_dims(lax.reduce_sum(terms, axes), dims, axes))
    zero = typeof(terms).dtype.type(0)
    total = keep_dims(lax.reduce_sum(choose(where, terms, zero), axes), dims, axes)
    # Nothing selected: 0, not 0 / 0.
    total = choose(total == 0, typeof(terms).dtype.type(1), total)
    return choose(where, lax.div(terms, total), zero)


@composite(static_argnames=("axis",), is_whole=True)
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Compute the logarithm of `softmax` without overflow or loss of small values.

    Args:
      x: any shape, real or complex; integers become the default float.
      axis: int or ints along which the exponentials of the result sum to 1.
      where: booleans that broadcast to `x`; elements where it is False are left out and become
        -inf.

    Returns:
      Array of the shape of `x`.

    Raises:
      ValueError: an axis is out of range or given twice.

    Example:
      >>> log_softmax(jnp.array([0.0, -1000.0])).tolist()
      [0.0, -1000.0]
    """
    x, axes = _checked("log_softmax", x, axis)
    shifted, dims = _shifted(x, where, axes), typeof(x).shape
    terms = lax.exp(shifted)
    if where is not None:
        terms = choose(where, terms, typeof(terms).dtype.type(0))
    total = keep_dims(lax.log(lax.reduce_sum(terms, axes)), dims, axes)
    out = lax.sub(shifted, total)
    return out if where is None else choose(where, out, typeof(out).dtype.type(-np.inf))


def _checked(name: str, x: Any, axis: Axis) -> tuple[Any, tuple[int, ...]]:
    check_arraylike(name, x)
    (x,) = promote_dtypes_inexact(name, x)
    return strong(x), canonicalize_axes(axis, typeof(x).ndim, name)


def _shifted(x: Array, where: Any, axes: tuple[int, ...]) -> Array:
    """Return `x` minus its largest element; elements left out keep exp and its slope finite."""
    largest = _largest(x if where is None else choose(where, x, -np.inf), axes)
    shifted = _minus(x, keep_dims(largest, typeof(x).shape, axes))
    if where is None:
        return shifted
    return choose(where, shifted, typeof(shifted).dtype.type(-np.inf))
