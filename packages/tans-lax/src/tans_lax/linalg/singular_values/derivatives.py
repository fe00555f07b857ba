"""Derivatives of the singular value decomposition.

With ``M = U^H dA V``, ``dU = U X``, ``dV = V Y`` and skew-Hermitian `X` and `Y`:
``M = dS + X S - S Y``. So ``ds_i = Re m_ii``; and with the Hermitian and the skew-Hermitian part,
``M = H + K``, off the diagonal

    x_ij = h_ij / (s_j - s_i) + k_ij / (s_i + s_j)
    y_ij = h_ij / (s_j - s_i) - k_ij / (s_i + s_j),

in which only the first term suffers from equal singular values (see `gaps`). The same for ``i = j``
without the first term is one choice of the phases. Rows of `M` beyond the singular values, between
`U` and its orthogonal complement, give ``x_ij = m_ij / s_j``; and so for `Y` and `M^H`.

References:
  Wan, Zhang, "Automatic differentiation for complex valued SVD", 2019 (the derivation, with the
  terms 1 / (s_j^2 - s_i^2) not yet split).
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.gaps import inverse_gaps, inverse_sums, reciprocal_unless_small
from tans_lax.linalg.matrices import (
    adjoint,
    diagonal,
    leading,
    matmul,
    real_part,
    spread,
)
from tans_lax.linalg.singular_values import svd_p
from tans_lax.rows import not_linear
from tans_lax.slicing import slice_in_dim
from tans_xla.sizes import max_size

type Value = Any


def _svd_jvp(
    primals: tuple[Value],
    tangents: tuple[Value],
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> tuple[list[Value], list[Value]]:
    (x_dot,) = tangents
    params: Any = {"full_matrices": full_matrices, "algorithm": algorithm}
    if type(x_dot) is Zero:
        params |= {"compute_uv": compute_uv, "subset_by_index": subset_by_index}
        outs = svd_p.bind(*primals, **params)
        return outs, [zero_tangent(typeof(x)) for x in outs]
    params["full_matrices"] = full_matrices and compute_uv
    # The tangent of a chosen singular vector has parts along all others.
    s, u, vh = svd_p.bind(*primals, compute_uv=True, subset_by_index=None, **params)
    v = adjoint(vh)
    rotated = matmul(adjoint(u), matmul(x_dot, v))
    s_dot = real_part(diagonal(rotated))
    if not compute_uv:
        return _chosen([s], [s_dot], subset_by_index)
    u_dot, v_dot = _vector_tangents(x_dot, s, u, v, rotated)
    return _chosen([s, u, vh], [s_dot, u_dot, adjoint(v_dot)], subset_by_index)


def _chosen(
    outs: list[Value], dots: list[Value], subset: tuple[int, int] | None
) -> tuple[list[Value], list[Value]]:
    if subset is None:
        return outs, dots
    axes = (-1, -1, -2)[: len(outs)]
    cut = [
        [slice_in_dim(x, *subset, axis=axis) for x, axis in zip(xs, axes, strict=True)]
        for xs in (outs, dots)
    ]
    return cut[0], cut[1]


def _vector_tangents(
    x_dot: Value, s: Value, u: Value, v: Value, rotated: Value
) -> tuple[Value, Value]:
    k = typeof(s).shape[-1]
    size = max_size(*typeof(x_dot).shape[-2:])
    square = leading(leading(rotated, k, -1), k, -2)
    half = typeof(square).dtype.type(0.5)
    hermitian = lax.mul(lax.add(square, adjoint(square)), half)
    skew = lax.mul(lax.sub(square, adjoint(square)), half)
    dtype = typeof(square).dtype
    turn = lax.mul(lax.convert_element_type(inverse_gaps(s, size), dtype), hermitian)
    shear = lax.mul(lax.convert_element_type(inverse_sums(s, size), dtype), skew)
    inverse = reciprocal_unless_small(s, s, size)
    x, y = lax.add(turn, shear), lax.sub(turn, shear)
    u_dot = _tangent(u, x, rotated, matmul(x_dot, leading(v, k, -1)), inverse)
    v_dot = _tangent(v, y, adjoint(rotated), matmul(adjoint(x_dot), leading(u, k, -1)), inverse)
    return u_dot, v_dot


def _tangent(u: Value, inner: Value, rotated: Value, image: Value, inverse: Value) -> Value:
    """Return the tangent of one side's vectors.

    Args:
      u: the vectors: as many as singular values, or square.
      inner: ``[k, k]``, the rotation among those that have a singular value.
      rotated: ``U^H dA V`` with this side's vectors on the left.
      image: ``dA V`` of the first k vectors of the other side.
      inverse: reciprocals of the singular values.
    """
    rows, columns = typeof(u).shape[-2:]
    k = typeof(inner).shape[-1]
    if columns == k:
        u_dot = matmul(u, inner)
        if rows == k:
            return u_dot
        outside = lax.sub(image, matmul(u, matmul(adjoint(u), image)))
        return lax.add(u_dot, lax.mul(outside, spread(inverse, outside, -1)))
    axis = typeof(u).ndim - 2
    below = leading(slice_in_dim(rotated, k, columns, axis=axis), k, -1)
    below = lax.mul(below, spread(inverse, below, -1))
    corner = lax.full((*typeof(u).shape[:-2], columns - k, columns - k), 0, typeof(u).dtype)
    top = lax.concatenate([inner, lax.neg(adjoint(below))], axis + 1)
    bottom = lax.concatenate([below, corner], axis + 1)
    return matmul(u, lax.concatenate([top, bottom], axis))


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    svd_p: _svd_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    svd_p: not_linear,
}
