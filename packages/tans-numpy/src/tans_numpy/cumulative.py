"""Running sums and products, differences and integrals along a dimension."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.creation import asarray, requested_dtype
from tans_numpy.joining import concatenate
from tans_numpy.manipulation import broadcast_to, ravel
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
    scalar_like,
)
from tans_numpy.reductions import accumulation_dtype
from tans_numpy.ufuncs.arithmetic import add, multiply, subtract, true_divide
from tans_numpy.ufuncs.comparison import not_equal
from tans_xla import composite

type Array = Any


def _cumulate(
    a: Array, *, axis: int | None, dtype: Any, kind: str, nan: bool = False, initial: bool = False
) -> Array:
    aval = typeof(a)
    unit = 0 if kind == "sum" else 1
    if axis is None:
        a, axis = lax.reshape(a, (aval.size,)), 0
    if nan and dtypes.is_inexact(aval.dtype):
        a = lax.select(lax.ne(a, a), lax.full_like(a, unit), a)
    if dtype is None and aval.dtype == np.bool_:
        dtype = dtypes.default_int()
    if aval.weak_type and dtype is None:
        dtype = aval.dtype
    if dtype is not None and (dtype != aval.dtype or aval.weak_type):
        a = lax.convert_element_type(a, dtype)
    if dtype == np.bool_:
        extremum = lax.cummax if kind == "sum" else lax.cummin
        bits = extremum(lax.convert_element_type(a, np.dtype(np.int8)), axis)
        out = lax.convert_element_type(bits, dtype)
    else:
        out = (lax.cumsum if kind == "sum" else lax.cumprod)(a, axis)
    if not initial:
        return out
    config = [(0, 0, 0)] * typeof(out).ndim
    config[axis] = (1, 0, 0)
    return lax.pad(out, typeof(out).dtype.type(unit), config)


def _cumulative(name: str, kind: str, nan: bool, summary: str) -> Callable[..., Array]:
    def cumulative(
        a: ArrayLike, axis: int | None = None, dtype: Any = None, out: None = None
    ) -> Array:
        check_arraylike(name, a)
        if out is not None:
            raise NotImplementedError(
                f"{name}: given out=, expected None: arrays can't be written to. Use the result."
            )
        axis = None if axis is None else canonicalize_axis(axis, typeof(a).ndim, name)
        dtype = None if dtype is None else requested_dtype(dtype, name)
        return _cumulate(a, axis=axis, dtype=dtype, kind=kind, nan=nan)

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__doc__ = f"""{summary}

    Args:
      a: any shape.
      axis: the dimension; None takes the flattened array.
      dtype: dtype of the result; that of `a` if None, the default integer for booleans.
      out: not supported.
    """
    return composite(static_argnames=("axis", "dtype", "out"))(cumulative)


cumsum = _cumulative("cumsum", "sum", False, "Sum elements up to each one.")
cumprod = _cumulative("cumprod", "prod", False, "Multiply elements up to each one.")
nancumsum = _cumulative("nancumsum", "sum", True, "Sum elements up to each one; nan counts as 0.")
nancumprod = _cumulative(
    "nancumprod", "prod", True, "Multiply elements up to each one; nan counts as 1."
)


def _standard(name: str, kind: str, summary: str) -> Callable[..., Array]:
    def cumulative(
        x: ArrayLike, /, *, axis: int | None = None, dtype: Any = None,
        include_initial: bool = False,
    ) -> Array:  # fmt: skip
        check_arraylike(name, x)
        ndim = typeof(x).ndim
        if ndim == 0 or (axis is None and ndim > 1):
            raise ValueError(
                f"{name}: given an array with {ndim} dimensions and axis={axis}, expected a vector "
                "or an axis. Pass axis=."
            )
        axis = 0 if axis is None else canonicalize_axis(axis, ndim, name)
        if dtype is not None:
            dtype = requested_dtype(dtype, name)
        elif kind == "sum":  # products keep their type, as in JAX
            dtype = accumulation_dtype(typeof(x).dtype)
        return _cumulate(x, axis=axis, dtype=dtype, kind=kind, initial=bool(include_initial))

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__doc__ = f"""{summary}

    Args:
      x: at least one dimension.
      axis: the dimension; needed unless `x` is a vector.
      dtype: dtype of the result; if None that of `sum` for sums, that of `x` for products.
      include_initial: put the neutral element in front.
    """
    return composite(static_argnames=("axis", "dtype", "include_initial"))(cumulative)


cumulative_sum = _standard("cumulative_sum", "sum", "Sum elements up to each one.")
cumulative_prod = _standard("cumulative_prod", "prod", "Multiply elements up to each one.")


@composite(static_argnames=("n", "axis"))
def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Return differences of neighbours along a dimension, `n` times over.

    Args:
      a: at least one dimension; booleans are compared.
      n: how often.
      axis: the dimension.
      prepend, append: values to put in front and behind first.

    Raises:
      ValueError: a scalar, or negative `n`.

    Example:
      >>> diff(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    check_arraylike("diff", a)
    n = operator.index(n)
    if n < 0 or typeof(a).ndim == 0:
        raise ValueError(
            f"diff: given n={n} and an array with {typeof(a).ndim} dimensions, expected n of at "
            "least 0 and one dimension or more."
        )
    if n == 0:
        return asarray(a)
    axis = canonicalize_axis(axis, typeof(a).ndim, "diff")
    return _diff(a, prepend, append, n=n, axis=axis)


def _diff(a: Array, prepend: Any, append: Any, *, n: int, axis: int) -> Array:
    parts = [_border(prepend, a, axis), a, _border(append, a, axis)]
    parts = [p for p in parts if p is not None]
    a = parts[0] if len(parts) == 1 else concatenate(parts, axis)
    minus = not_equal if typeof(a).dtype == np.bool_ else subtract
    for _ in range(n):
        size = typeof(a).shape[axis]
        later = lax.slice_in_dim(a, min(1, size), size, 1, axis)
        earlier = lax.slice_in_dim(a, 0, max(size - 1, 0), 1, axis)
        a = minus.inline(later, earlier)
    return a


def _border(value: Any, a: Array, axis: int) -> Any:
    if value is None or typeof(value).ndim:
        return value
    dims = list(typeof(a).shape)
    dims[axis] = 1
    return broadcast_to(value, tuple(dims))


@composite
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return differences of neighbours in the flattened array.

    Args:
      ary: any shape.
      to_end, to_begin: values to put behind and in front of the differences.

    Raises:
      TypeError: booleans.
    """
    check_arraylike("ediff1d", ary)
    if typeof(ary).dtype == np.bool_:
        raise TypeError("ediff1d: given booleans, expected numbers. Use diff, or x.astype(int).")
    out = diff(ravel(ary))
    dtype = typeof(out).dtype
    parts = [None if to_begin is None else asarray(to_begin).astype(dtype).ravel(), out]
    parts += [None if to_end is None else asarray(to_end).astype(dtype).ravel()]
    return concatenate([p for p in parts if p is not None])


@composite(static_argnames=("axis",))
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrate samples by the trapezoidal rule.

    Args:
      y: samples, at least one dimension.
      x: where the samples are: [n], or the shape of `y`; evenly spaced if None.
      dx: distance of samples if `x` is None.
      axis: the dimension to integrate along.

    Example:
      >>> trapezoid(jnp.array([1.0, 2.0, 3.0]))
      Array(4., dtype=float32)
    """
    check_arraylike("trapezoid", *(v for v in (y, x) if v is not None))
    return _trapezoid(y, x, dx, axis=canonicalize_axis(axis, typeof(y).ndim, "trapezoid"))


def _trapezoid(y: Any, x: Any, dx: Any, *, axis: int) -> Array:
    if x is None:
        (y,) = promote_dtypes_inexact("trapezoid", y)
        width: Any = dx
    else:
        y, x = promote_dtypes_inexact("trapezoid", y, x)
        n = typeof(x).ndim
        width = diff(x, axis=axis if n > 1 else 0)
        if n == 1 and typeof(y).ndim > 1:
            width = lax.broadcast_in_dim(
                width,
                tuple(typeof(width).size if i == axis else 1 for i in range(typeof(y).ndim)),
                (axis,),
            )
    size = typeof(y).shape[axis]
    later = lax.slice_in_dim(y, min(1, size), size, 1, axis)
    earlier = lax.slice_in_dim(y, 0, max(size - 1, 0), 1, axis)
    area = multiply.inline(add.inline(later, earlier), width)
    total = lax.reduce_sum(area, (axis,))
    return lax.mul(total, typeof(total).dtype.type(0.5))


@composite(static_argnames=("axis", "edge_order"))
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Any = None, edge_order: int | None = None
) -> Any:
    """Return central differences, one-sided at the ends, along each dimension.

    Args:
      f: samples; at least two along each dimension used.
      *varargs: distances: nothing (1), one scalar, or for each dimension a scalar or coordinates.
      axis: int or ints; all if None.
      edge_order: must be None.

    Returns:
      One array for one dimension, else a list with one array per dimension.

    Raises:
      NotImplementedError: `edge_order` is given.
      ValueError: too few samples, or a wrong number of distances.
    """
    if edge_order is not None:
        raise NotImplementedError(
            "gradient: given edge_order=, expected None: only order 1 exists."
        )
    check_arraylike("gradient", f, *varargs)
    axes = canonicalize_axes(axis, typeof(f).ndim, "gradient")
    steps = varargs if len(varargs) > 1 else (varargs or (1,)) * len(axes)
    if len(steps) != len(axes):
        raise ValueError(
            f"gradient: given {len(varargs)} distances for {len(axes)} dimensions, expected none, "
            "one, or as many."
        )
    short = [i for i in axes if typeof(f).shape[i] < 2]
    if short:
        raise ValueError(
            f"gradient: given {typeof(f).shape[short[0]]} samples along dimension {short[0]}, "
            "expected at least 2."
        )
    out = list(_gradient(f, steps, axes=axes))
    return out[0] if len(out) == 1 else out


def _gradient(f: Any, steps: tuple, *, axes: tuple[int, ...]) -> list[Array]:
    pairs = [promote_dtypes_inexact("gradient", f, step) for step in steps]
    return [_slopes(f, step, i) for i, (f, step) in zip(axes, pairs, strict=True)]


def _slopes(f: Array, step: Any, axis: int) -> Array:
    n = typeof(f).shape[axis]
    uneven = typeof(step).ndim == 1

    def part(start: int, stop: int) -> Array:
        return lax.slice_in_dim(f, start, stop, 1, axis)

    first = lax.sub(part(1, 2), part(0, 1))
    last = lax.sub(part(n - 1, n), part(n - 2, n - 1))
    if not uneven:
        ends = [first, lax.mul(lax.sub(part(2, n), part(0, n - 2)), scalar_like(f, 0.5)), last]
        out = lax.concatenate(ends, axis)
        is_one = isinstance(step, float | np.generic) and step == 1
        return out if is_one else true_divide.inline(out, step)
    # Second order on an uneven grid: a weighted mean of the two one-sided slopes.
    slopes = lax.sub(part(1, n), part(0, n - 1))
    widths = diff(step)
    dims = tuple(n - 1 if i == axis else 1 for i in range(typeof(f).ndim))
    widths = lax.reshape(widths, dims)
    slopes = true_divide.inline(slopes, widths)

    def cut(x: Array, start: int, stop: int) -> Array:
        return lax.slice_in_dim(x, start, stop, 1, axis)

    before, after = cut(widths, 0, n - 2), cut(widths, 1, n - 1)
    middle = (cut(slopes, 0, n - 2) * after + cut(slopes, 1, n - 1) * before) / (before + after)
    return lax.concatenate([cut(slopes, 0, 1), middle, cut(slopes, n - 2, n - 1)], axis)
