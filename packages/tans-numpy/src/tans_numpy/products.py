"""Products of vectors and matrices beyond dot: cross, kron, vecdot, matvec, vecmat."""

from typing import Any

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.contractions import matmul
from tans_numpy.dims import repeat_to
from tans_numpy.manipulation import moveaxis
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes,
    strong,
)
from tans_xla import composite

type Array = Any


@composite(static_argnames=("axes",))
def _cross(a: Any, b: Any, *, axes: tuple[int, int, int]) -> Array:
    a, b = map(strong, promote_dtypes("cross", a, b))
    a, b = moveaxis(a, axes[0], -1), moveaxis(b, axes[1], -1)
    dims = broadcast_shapes("cross", typeof(a).shape, typeof(b).shape)
    a, b = repeat_to(a, dims), repeat_to(b, dims)
    last = len(dims) - 1

    def turned(x: Any) -> Any:
        """Return components 1, 2, 0."""
        parts = [lax.slice_in_dim(x, 1, 3, 1, last), lax.slice_in_dim(x, 0, 1, 1, last)]
        return lax.concatenate(parts, last)

    # c[2], c[0], c[1] in one expression: a[k] b[k + 1] - a[k + 1] b[k].
    out = turned(lax.sub(lax.mul(a, turned(b)), lax.mul(turned(a), b)))
    return moveaxis(out, -1, axes[2]) if axes[2] != -1 else out


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
    axis: int | None = None,
) -> Array:  # fmt: skip
    """Return the cross product of vectors in space.

    Args:
      a, b: vectors of 3 components along `axisa` and `axisb`; the others broadcast.
      axisa, axisb: dimensions of the components.
      axisc: dimension of the components in the result.
      axis: one dimension for all three.

    Raises:
      ValueError: other numbers of components.
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    axisa = canonicalize_axis(axisa, typeof(a).ndim, "cross")
    axisb = canonicalize_axis(axisb, typeof(b).ndim, "cross")
    sizes = (typeof(a).shape[axisa], typeof(b).shape[axisb])
    if sizes != (3, 3):
        raise ValueError(
            f"cross: given vectors of {sizes[0]} and {sizes[1]} components, expected 3. In the "
            "plane write a[0] * b[1] - a[1] * b[0]."
        )
    return _cross(a, b, axes=(axisa, axisb, axisc))


@composite
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: blocks of `b`, scaled by the elements of `a`.

    Args:
      a, b: any shapes.
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes("kron", a, b)
    rank = max(typeof(a).ndim, typeof(b).ndim)
    dims_a = (1,) * (rank - typeof(a).ndim) + typeof(a).shape
    dims_b = (1,) * (rank - typeof(b).ndim) + typeof(b).shape
    mixed = tuple(n for pair in zip(dims_a, dims_b, strict=True) for n in pair)
    places_a = tuple(2 * (i + rank - typeof(a).ndim) for i in range(typeof(a).ndim))
    places_b = tuple(2 * (i + rank - typeof(b).ndim) + 1 for i in range(typeof(b).ndim))
    spread_a = lax.broadcast_in_dim(a, mixed, places_a)
    spread_b = lax.broadcast_in_dim(b, mixed, places_b)
    product = spread_a * spread_b
    return lax.reshape(product, tuple(n * m for n, m in zip(dims_a, dims_b, strict=True)))


def vecdot(
    x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Return sums of ``conj(x1) * x2`` along a dimension.

    Args:
      x1, x2: arrays with one size along `axis`; the other dimensions broadcast.
      axis: the dimension.
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.

    Raises:
      ValueError: different sizes along `axis`.
    """
    check_arraylike("vecdot", x1, x2)
    sizes = []
    for x in (x1, x2):
        if not typeof(x).ndim:
            raise ValueError("vecdot: given a scalar, expected at least one dimension.")
        sizes.append(typeof(x).shape[canonicalize_axis(axis, typeof(x).ndim, "vecdot")])
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot: given the sizes {sizes[0]} and {sizes[1]}, expected one size.")
    return _vecdot(x1, x2, axis=axis, precision=precision, dtype=preferred_element_type)


@composite(static_argnames=("axis", "precision", "dtype"))
def _vecdot(x1: Any, x2: Any, *, axis: int, precision: Any, dtype: Any) -> Array:
    x1, x2 = (moveaxis(x, axis, -1) for x in promote_dtypes("vecdot", x1, x2))
    x1 = lax.conj(x1) if dtypes.is_complex(typeof(x1).dtype) else x1
    row = lax.expand_dims(x1, (typeof(x1).ndim - 1,))
    column = lax.expand_dims(x2, (typeof(x2).ndim,))
    out = matmul(row, column, precision=precision, preferred_element_type=dtype)
    return lax.squeeze(out, (typeof(out).ndim - 2, typeof(out).ndim - 1))


def _check_pair(name: str, vector: Any, matrix: Any, axis: int) -> None:
    shape, sizes = typeof(vector).shape, typeof(matrix).shape
    if not shape or len(sizes) < 2 or shape[-1] != sizes[axis]:
        raise ValueError(
            f"{name}: given a vector of shape {shape} and a matrix of shape {sizes}, expected the "
            f"last size of the vector to be size {axis} of the matrix. Transpose it with .mT."
        )


@composite
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply matrices by vectors.

    Args:
      x1: [..., m, n].
      x2: [..., n]; leading dimensions broadcast.

    Raises:
      ValueError: the shapes do not fit.
    """
    check_arraylike("matvec", x1, x2)
    _check_pair("matvec", x2, x1, -1)
    column = lax.expand_dims(x2, (typeof(x2).ndim,))
    out = matmul(x1, column)
    return lax.squeeze(out, (typeof(out).ndim - 1,))


@composite
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply conjugated vectors by matrices.

    Args:
      x1: [..., n].
      x2: [..., n, m]; leading dimensions broadcast.

    Raises:
      ValueError: the shapes do not fit.
    """
    check_arraylike("vecmat", x1, x2)
    _check_pair("vecmat", x1, x2, -2)
    x1 = lax.conj(x1) if dtypes.is_complex(typeof(x1).dtype) else x1
    row = lax.expand_dims(x1, (typeof(x1).ndim - 1,))
    out = matmul(row, x2)
    return lax.squeeze(out, (typeof(out).ndim - 2,))
