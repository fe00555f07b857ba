"""Norms of vectors and matrices."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy import reductions as reduce
from tans_numpy.linalg.checks import check_matrices
from tans_numpy.linalg.spectra import svdvals
from tans_numpy.linalg.systems import inv
from tans_numpy.manipulation import moveaxis
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
    strong,
)
from tans_numpy.reductions import keep_dims
from tans_xla import composite

type Array = Any

_SPECTRAL: Final = ("nuc", 2, -2)


def _magnitude(x: Array) -> Array:
    return lax.abs(x)


def _vector_norm(x: Any, order: Any = None, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact("norm", x)
    x = strong(x)
    return _norm_of_order(x, 2 if order is None else order, axes, keepdims)


def _norm_of_order(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return the vector norm of an order that is a number known while tracing."""
    dims = typeof(x).shape
    if order == 2:
        out = lax.sqrt(lax.reduce_sum(_squares(x), axes))
    elif order == np.inf:
        out = reduce.max(_magnitude(x), axes, initial=0.0)
    elif order == -np.inf:
        out = reduce.min(_magnitude(x), axes, initial=np.inf)
    elif order == 1:
        out = lax.reduce_sum(_magnitude(x), axes)
    elif order == 0:
        found = lax.ne(x, lax.full_like(x, 0))
        real = typeof(_magnitude(x)).dtype
        out = lax.reduce_sum(lax.convert_element_type(found, real), axes)
    else:
        powers = _magnitude(x) ** order
        out = lax.reduce_sum(powers, axes) ** (1 / order)
    return keep_dims(out, dims, axes) if keepdims else out


def _squares(x: Any) -> Array:
    if dtypes.is_complex(typeof(x).dtype):
        return lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    return lax.square(x)


@composite(static_argnames=("axes", "keepdims"))
def _vector_norm_traced(x: Any, order: Any, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    x, order = promote_dtypes_inexact("norm", x, order)
    return _norm_of_order_p(x, order, axes, keepdims)


def _norm_of_order_p(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    dims = typeof(x).shape
    out = lax.reduce_sum(_magnitude(x) ** order, axes) ** (1 / order)
    return keep_dims(out, dims, axes) if keepdims else out


def _unknown_order(name: str, order: Any, kind: str) -> ValueError:
    return ValueError(f"{name}: given ord={order!r} for a {kind}, expected a number or None.")


@composite(static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Array:  # fmt: skip
    """Return the norm of vectors or matrices.

    Args:
      x: any shape; integers become the default float.
      ord: order. Vectors: a number, inf, -inf or 0. Matrices: "fro", "nuc" (sum of the singular
        values), 2 or -2 (largest, smallest of them), 1, -1, inf, -inf. None is the root of the
        sum of squares.
      axis: one dimension for vectors, two for matrices; all if None.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: unknown order, or more than two dimensions.

    Example:
      >>> norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
    check_arraylike("norm", x)
    ndim = typeof(x).ndim
    if axis is None and ord is None:
        return _vector_norm(x, axes=tuple(range(ndim)), keepdims=bool(keepdims))
    axes = canonicalize_axes(axis, ndim, "norm")
    if len(axes) == 1:
        if isinstance(ord, str):
            raise _unknown_order("norm", ord, "vector")
        return _any_vector_norm(x, ord, axes, bool(keepdims))
    if len(axes) == 2:
        return _matrix_norm(x, "fro" if ord is None else ord, axes, bool(keepdims))
    raise ValueError(f"norm: given {len(axes)} dimensions, expected one or two. Pass axis=.")


def _any_vector_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    if order is None or isinstance(order, int | float):
        return _vector_norm(x, order=order, axes=axes, keepdims=keepdims)
    return _vector_norm_traced(x, order, axes=axes, keepdims=keepdims)


def _matrix_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    if order in ("fro", "f"):
        return _vector_norm(x, axes=axes, keepdims=keepdims)
    if order in _SPECTRAL:
        return _matrix_spectral(x, axes=axes, order=order, keepdims=keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise _unknown_order("norm", order, "matrix")
    return _matrix_sums(x, axes=axes, order=order, keepdims=keepdims)


def _matrix_spectral(x: Any, *, axes: tuple[int, int], order: Any, keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact("norm", x)
    s = svdvals(moveaxis(x, axes, (-2, -1)))
    if order == 2:
        out = reduce.max(s, -1, initial=0.0)
    else:
        out = (reduce.sum if order == "nuc" else reduce.min)(s, -1)
    return keep_dims(out, typeof(x).shape, tuple(sorted(axes))) if keepdims else out


def _matrix_sums(x: Any, *, axes: tuple[int, int], order: float, keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact("norm", x)
    rows, columns = axes
    inner, outer = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = lax.reduce_sum(_magnitude(x), (inner,))
    if outer > inner:
        outer -= 1
    out = reduce.max(sums, outer, initial=0.0) if order > 0 else reduce.min(sums, outer)
    return keep_dims(out, typeof(x).shape, tuple(sorted(axes))) if keepdims else out


@composite(static_argnames=("ord", "axis", "keepdims"))
def vector_norm(
    x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Array:  # fmt: skip
    """Return the norm of vectors; several dimensions are read as one.

    Args:
      x: any shape.
      axis: int or ints; all if None.
      keepdims: keep reduced dimensions with size 1.
      ord: a number, inf, -inf or 0.

    Raises:
      ValueError: unknown order.
    """
    check_arraylike("vector_norm", x)
    if isinstance(ord, str):
        raise _unknown_order("vector_norm", ord, "vector")
    axes = canonicalize_axes(axis, typeof(x).ndim, "vector_norm")
    return _any_vector_norm(x, ord, axes, bool(keepdims))


@composite(static_argnames=("ord", "keepdims"))
def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro"
) -> Array:  # fmt: skip
    """Return the norm of matrices.

    Args:
      x: [..., m, n].
      keepdims: keep reduced dimensions with size 1.
      ord: "fro", "nuc", 2, -2, 1, -1, inf or -inf; see `norm`.

    Raises:
      ValueError: unknown order.
    """
    return norm(x, ord, (-2, -1), keepdims)


@composite(static_argnames=("p",))
def cond(x: ArrayLike, p: Any = None) -> Array:
    """Compute condition numbers: the norm of a matrix times that of its inverse.

    Args:
      x: ``[..., m, n]``; square unless `p` is None, 2 or -2.
      p: order of the norm, as for `norm`; None means 2.

    Returns:
      ``[...]``; inf for singular matrices.

    Raises:
      ValueError: the matrices are not square, or empty.

    Example:
      >>> float(cond(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
      2.0
    """
    check_matrices("linalg.cond", x, square=p not in (None, 2, -2))
    if 0 in typeof(x).shape[-2:]:
        raise ValueError(
            f"linalg.cond: given shape {typeof(x).shape}, expected matrices that are not empty."
        )
    return _cond(x, p=p)


def _cond(x: Array, *, p: Any) -> Array:
    (x,) = promote_dtypes_inexact("linalg.cond", x)
    if p in (None, 2, -2):
        s = svdvals(x)
        k = typeof(s).shape[-1]
        axis = typeof(s).ndim - 1
        largest, smallest = (
            lax.squeeze(lax.slice_in_dim(s, i, i + 1, axis=axis), (axis,)) for i in (0, k - 1)
        )
        out = lax.div(smallest, largest) if p == -2 else lax.div(largest, smallest)
    else:
        out = lax.mul(norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1)))
    # A singular matrix gives 0/0 or inf·0; nan stands for nan in the matrix only.
    has_nan = lax.reduce_or(lax.ne(x, x), (typeof(x).ndim - 2, typeof(x).ndim - 1))
    singular = lax.bitwise_and(lax.ne(out, out), lax.bitwise_not(has_nan))
    return lax.select(singular, lax.full_like(out, np.inf), out)
