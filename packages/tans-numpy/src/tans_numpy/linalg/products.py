"""Powers and products of matrices, with the signatures of `numpy.linalg`."""

import operator
from collections.abc import Sequence
from typing import Any

import tans_lax as lax
from tans_core import typeof
from tans_numpy import contractions, diagonals, products
from tans_numpy.creation import asarray
from tans_numpy.linalg.systems import inv
from tans_numpy.manipulation import matrix_transpose as _matrix_transpose
from tans_numpy.manipulation import reshape
from tans_numpy.operands import (
    ArrayLike,
    check_arraylike,
    promote_dtypes,
)
from tans_numpy.ranges import eye
from tans_xla import composite
from tans_xla.sizes import typical_size

type Array = Any

vecdot = products.vecdot


@composite(static_argnames=("n",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Multiply square matrices by themselves.

    Args:
      a: [..., m, m].
      n: static exponent; a negative one multiplies the inverse.

    Raises:
      TypeError: `n` is not an integer, or `a` not square.

    Example:
      >>> matrix_power(jnp.array([[1.0, 1.0], [0.0, 1.0]]), -3).tolist()
      [[1.0, -3.0], [0.0, 1.0]]
    """
    check_arraylike("matrix_power", a)
    dims = typeof(a).shape
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise TypeError(f"matrix_power: given the shape {dims}, expected square matrices.")
    n = operator.index(n)
    if n < 0:
        a, n = inv(a), -n
    return _matrix_power(a, n=n)


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
            f"multi_dot: given arrays of {ranks} dimensions, expected matrices, and vectors only "
            "at the ends."
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
                f"multi_dot: given the shapes {[typeof(m).shape for m in items]}, whose sizes "
                "do not fit; expected as many rows as the matrix before has columns."
            )
    splits = _best_splits([typical_size(n) for n in sizes])
    out = _ordered_product(items, splits, 0, len(items) - 1, precision)
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
