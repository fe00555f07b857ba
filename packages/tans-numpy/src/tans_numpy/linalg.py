"""Linear algebra that needs no decomposition: norms, powers and products of matrices."""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy import contractions, diagonals, products
from tans_numpy import reductions as reduce
from tans_numpy.creation import asarray
from tans_numpy.manipulation import matrix_transpose as _matrix_transpose
from tans_numpy.manipulation import reshape
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
)
from tans_numpy.ranges import eye
from tans_numpy.reductions import keep_dims
from tans_xla import composite

__all__ = (
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot",
    "norm", "outer", "tensordot", "trace", "vecdot", "vector_norm",
)  # fmt: skip

type Array = Any

vecdot = products.vecdot
_SPECTRAL: Final = ("nuc", 2, -2)


def _magnitude(x: Array) -> Array:
    return lax.abs(x)


@composite(static_argnames=("axes", "keepdims", "order"))
def _vector_norm(x: Any, order: Any = None, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact("norm", x)
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


def norm(
    x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Array:  # fmt: skip
    """Return the norm of vectors or matrices.

    Args:
      x: any shape; integers become the default float.
      ord: order. Vectors: a number, inf, -inf or 0. Matrices: "fro", 1, -1, inf, -inf. None is the
        root of the sum of squares.
      axis: one dimension for vectors, two for matrices; all if None.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      NotImplementedError: a matrix norm that needs singular values.
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
        raise NotImplementedError(
            f"norm: given ord={order!r}, which needs singular values; expected 'fro', 1, -1, inf "
            "or -inf."
        )
    if order not in (1, -1, np.inf, -np.inf):
        raise _unknown_order("norm", order, "matrix")
    return _matrix_sums(x, axes=axes, order=order, keepdims=keepdims)


@composite(static_argnames=("axes", "order", "keepdims"))
def _matrix_sums(x: Any, *, axes: tuple[int, int], order: float, keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact("norm", x)
    rows, columns = axes
    inner, outer = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = lax.reduce_sum(_magnitude(x), (inner,))
    if outer > inner:
        outer -= 1
    out = (reduce.max if order > 0 else reduce.min)(sums, outer)
    return keep_dims(out, typeof(x).shape, tuple(sorted(axes))) if keepdims else out


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


def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro"
) -> Array:  # fmt: skip
    """Return the norm of matrices.

    Args:
      x: [..., m, n].
      keepdims: keep reduced dimensions with size 1.
      ord: "fro", 1, -1, inf or -inf.

    Raises:
      NotImplementedError: an order that needs singular values.
      ValueError: unknown order.
    """
    return norm(x, ord, (-2, -1), keepdims)


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Multiply square matrices by themselves.

    Args:
      a: [..., m, m].
      n: static exponent, at least 0: negative ones need an inverse.

    Raises:
      NotImplementedError: negative `n`.
      TypeError: `n` is not an integer, or `a` not square.
    """
    check_arraylike("matrix_power", a)
    dims = typeof(a).shape
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise TypeError(f"matrix_power: given the shape {dims}, expected square matrices.")
    n = operator.index(n)
    if n < 0:
        raise NotImplementedError(
            f"matrix_power: given n={n}, expected at least 0: negative powers need an inverse."
        )
    return _matrix_power(a, n=n)


@composite(static_argnames=("n",))
def _matrix_power(a: Any, *, n: int) -> Array:
    a = asarray(a)
    if n == 0:
        return lax.full_like(a, 0) + eye(a.shape[-1], dtype=a.dtype)
    out: Any = None
    square = a
    while n:
        if n & 1:
            out = square if out is None else out @ square
        n >>= 1
        if n:
            square = square @ square
    return out


def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Array:
    """Multiply matrices in the order that needs the fewest operations.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: precision of the products.

    Raises:
      ValueError: fewer than two arrays, or sizes that do not fit.
    """
    items = list(arrays)
    check_arraylike("multi_dot", *items)
    if len(items) < 2:
        raise ValueError(f"multi_dot: given {len(items)} arrays, expected at least two.")
    ranks = [typeof(a).ndim for a in items]
    if ranks[0] not in (1, 2) or ranks[-1] not in (1, 2) or any(r != 2 for r in ranks[1:-1]):
        raise ValueError(
            f"multi_dot: given arrays of {ranks} dimensions, expected matrices, and vectors only at "
            "the ends."
        )
    first, last = ranks[0] == 1, ranks[-1] == 1
    items = list(promote_dtypes("multi_dot", *items))
    if first:
        items[0] = reshape(items[0], (1, -1))
    if last:
        items[-1] = reshape(items[-1], (-1, 1))
    sizes = [typeof(items[0]).shape[0], *(typeof(a).shape[1] for a in items)]
    for a, n in zip(items, sizes, strict=False):
        if typeof(a).shape[0] != n:
            raise ValueError(
                f"multi_dot: given matrices of the shapes {[typeof(m).shape for m in items]}, whose "
                "sizes do not fit; expected as many rows as the matrix before has columns."
            )
    out = _ordered_product(items, _best_splits(sizes), 0, len(items) - 1, precision)
    out = out[0] if first else out
    return out[..., 0] if last else out


def _best_splits(sizes: Sequence[int]) -> list[list[int]]:
    """Return where to split each chain of matrices i..j, by dynamic programming over its length."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


def _ordered_product(
    items: Sequence[Any], split: list[list[int]], i: int, j: int, precision: Any
) -> Array:
    if i == j:
        return items[i]
    k = split[i][j]
    return contractions.matmul(
        _ordered_product(items, split, i, k, precision),
        _ordered_product(items, split, k + 1, j, precision),
        precision=precision,
    )


def matmul(
    x1: ArrayLike, x2: ArrayLike, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Multiply matrices; see `tans.numpy.matmul`."""
    return contractions.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two dimensions.

    Args:
      x: [..., m, n].
    """
    return _matrix_transpose(x)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors in space.

    Args:
      x1, x2: vectors of 3 components along `axis`; the others broadcast.
      axis: dimension of the components.

    Raises:
      ValueError: another number of components.
    """
    check_arraylike("cross", x1, x2)
    if typeof(x1).shape[axis] != 3 or typeof(x2).shape[axis] != 3:
        raise ValueError(
            f"cross: given vectors of {typeof(x1).shape[axis]} and {typeof(x2).shape[axis]} "
            "components, expected 3."
        )
    return products.cross(x1, x2, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return all products of elements of two vectors.

    Args:
      x1: [n].
      x2: [m].

    Raises:
      ValueError: not vectors.
    """
    check_arraylike("outer", x1, x2)
    if typeof(x1).ndim != 1 or typeof(x2).ndim != 1:
        raise ValueError(
            f"outer: given operands of shapes {typeof(x1).shape} and {typeof(x2).shape}, expected "
            "vectors."
        )
    return contractions.outer(x1, x2)


def tensordot(
    x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2, precision: Any = None,
    preferred_element_type: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Contract several dimensions of two arrays; see `tans.numpy.tensordot`."""
    return contractions.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )  # fmt: skip


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return a diagonal of matrices.

    Args:
      x: [..., m, n].
      offset: which diagonal; positive is above the main one.
    """
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return the sum of a diagonal of matrices.

    Args:
      x: [..., m, n].
      offset: which diagonal; positive is above the main one.
      dtype: dtype of the result.
    """
    return diagonals.trace(x, offset, -2, -1, dtype)
