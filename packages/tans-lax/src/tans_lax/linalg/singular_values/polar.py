"""Polar decomposition by a dynamically weighted Halley iteration, and singular values from it."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Array, typeof
from tans_lax.linalg.checks import check_matrix
from tans_lax.linalg.cholesky_factors import cholesky
from tans_lax.linalg.hermitian_spectra import eigh
from tans_lax.linalg.matrices import (
    adjoint,
    diagonal,
    identity_like,
    matmul,
    real_dtype,
    real_part,
    symmetrized,
    times_columns,
)
from tans_lax.linalg.orthogonal_factors import qr
from tans_lax.linalg.triangular_systems import triangular_solve

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array
type Value = Any


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Factor ``x = u @ h`` with orthonormal `u` and Hermitian positive-semidefinite `h`.

    Args:
      x: ``[*batch, m, n]`` with ``m >= n``, real or complex.
      is_hermitian: whether `x` is Hermitian; then so is `u`.
      max_iterations: bound on the iterations; None means 10, which suffices in every precision.
      eps: smallest relative singular value to resolve; None means the dtype's rounding unit.
      dynamic_shape: the part ``(rows, columns)`` of `x` that counts; the rest counts as zero.

    Returns:
      ``(u, h, iterations, converged)``: ``[*batch, m, n]``, ``[*batch, n, n]``, int32 and bool
      scalars.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: there are more columns than rows, or `is_hermitian` of matrices that are not
        square.

    Example:
      >>> import numpy as np
      >>> u, h, _, converged = qdwh(np.array([[0.0, -2.0], [3.0, 0.0]]))
      >>> np.diag(np.round(h, 4)).tolist(), bool(converged)
      ([3.0, 2.0], True)

    References:
      Nakatsukasa, Higham, "Stable and efficient spectral divide and conquer algorithms for the
      symmetric eigenvalue decomposition and the SVD", 2013.
    """
    aval: Any = typeof(x)
    check_matrix("qdwh", aval)
    if aval.shape[-1] > aval.shape[-2]:
        raise ValueError(
            f"qdwh: given {aval.str_short(short_dtypes=False)}, expected at least as many rows as "
            "columns. Pass the adjoint and take that of the result."
        )
    if is_hermitian and aval.shape[-1] != aval.shape[-2]:
        raise ValueError(
            f"qdwh: given {aval.str_short(short_dtypes=False)} and is_hermitian=True, expected "
            "square matrices. Leave is_hermitian out."
        )
    if dynamic_shape is not None:
        x = _only(x, dynamic_shape)
    dtype = real_dtype(aval.dtype)
    eps = float(np.finfo(dtype).eps) if eps is None else float(eps)
    limit = 10 if max_iterations is None else max_iterations
    u, iterations, converged = _iterate(_scaled(x, dtype), dtype.type(eps), limit)
    # One Newton-Schulz step restores orthogonality to working precision.
    gram = matmul(u, matmul(adjoint(u), u))
    u = lax.sub(_times(1.5, u), _times(0.5, gram))
    if is_hermitian:
        u = symmetrized(u)
    return u, symmetrized(matmul(adjoint(u), x)), iterations, converged


def _only(x: Value, sizes: tuple[Any, Any]) -> Value:
    shape = typeof(x).shape
    for axis, size in zip((len(shape) - 2, len(shape) - 1), sizes, strict=True):
        place = lax.broadcasted_iota(np.dtype("int32"), shape, axis)
        x = lax.select(lax.lt(place, lax.full_like(place, size)), x, lax.full_like(x, 0))
    return x


def _times(weight: Any, x: Value) -> Value:
    dtype = typeof(x).dtype
    weight = dtype.type(weight) if isinstance(weight, float) else _as(weight, dtype)
    return lax.mul(weight, x)


def _as(x: Value, dtype: Any) -> Value:
    return lax.convert_element_type(x, dtype)


def _scaled(x: Value, dtype: np.dtype) -> Value:
    """Divide by an upper bound of the largest singular value."""
    ndim = typeof(x).ndim
    sizes = lax.abs(x)
    bounds = [
        lax.reduce_max(lax.reduce_sum(sizes, (axis,)), (ndim - 2,)) for axis in (ndim - 2, ndim - 1)
    ]
    bound = lax.sqrt(lax.mul(*bounds))
    bound = lax.max(bound, lax.full_like(bound, np.finfo(dtype).tiny))
    bound = lax.broadcast_in_dim(bound, typeof(x).shape, tuple(range(ndim - 2)))
    return lax.div(x, _as(bound, typeof(x).dtype))


def _iterate(x: Value, smallest: Any, limit: int) -> tuple[Value, Value, Value]:
    """Map the singular values, which lie in ``[smallest, 1]``, to one."""
    dtype = np.dtype(type(smallest))
    eps = np.finfo(dtype).eps
    tolerance = dtype.type(np.cbrt(5 * eps))

    def unfinished(state: tuple[Value, ...]) -> Value:
        _, low, change, count = state
        far = lax.gt(lax.abs(lax.sub(low, dtype.type(1))), dtype.type(10 * eps))
        return lax.bitwise_and(
            lax.bitwise_or(far, lax.gt(change, tolerance)), lax.lt(count, np.int32(limit))
        )

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        x, low, _, count = state
        a, b, c, low = _weights(low, dtype)
        new = lax.cond(lax.gt(c, dtype.type(100)), _step_by_qr, _step_by_cholesky, x, a, b, c)
        change = lax.reduce_max(lax.abs(lax.sub(new, x)), tuple(range(typeof(x).ndim)))
        return new, low, change, lax.add(count, np.int32(1))

    start = (x, smallest, dtype.type(1), np.int32(0))
    x, low, change, count = lax.while_loop(unfinished, step, start)
    return x, count, lax.bitwise_not(unfinished((x, low, change, np.int32(-1))))


def _weights(low: Value, dtype: np.dtype) -> tuple[Value, Value, Value, Value]:
    """Return the best rational weights for singular values in ``[low, 1]``, and the new bound."""
    one = dtype.type(1)
    square = lax.mul(low, low)
    d = lax.cbrt(lax.div(lax.mul(dtype.type(4), lax.sub(one, square)), lax.mul(square, square)))
    root = lax.sqrt(lax.add(one, d))
    rest = lax.div(lax.mul(dtype.type(8), lax.sub(dtype.type(2), square)), lax.mul(square, root))
    inner = lax.add(lax.sub(dtype.type(8), lax.mul(dtype.type(4), d)), rest)
    a = lax.add(root, lax.mul(dtype.type(0.5), lax.sqrt(inner)))
    b = lax.mul(dtype.type(0.25), lax.square(lax.sub(a, one)))
    c = lax.sub(lax.add(a, b), one)
    grown = lax.mul(low, lax.add(a, lax.mul(b, square)))
    return a, b, c, lax.min(one, lax.div(grown, lax.add(one, lax.mul(c, square))))


def _step_by_qr(x: Value, a: Value, b: Value, c: Value) -> Value:
    ndim = typeof(x).ndim
    *batch, m, n = typeof(x).shape
    unit = identity_like(lax.full((*batch, n, n), 0, typeof(x).dtype))
    q, _ = qr(lax.concatenate([_times(lax.sqrt(c), x), unit], ndim - 2), full_matrices=False)
    q1, q2 = lax.split(q, (m, n), ndim - 2)
    weight = lax.div(lax.sub(a, lax.div(b, c)), lax.sqrt(c))
    return lax.add(_times(lax.div(b, c), x), _times(weight, matmul(q1, adjoint(q2))))


def _step_by_cholesky(x: Value, a: Value, b: Value, c: Value) -> Value:
    gram = _times(c, matmul(adjoint(x), x))
    factor = cholesky(lax.add(gram, identity_like(gram)), symmetrize_input=False)
    options: Any = {"left_side": True, "lower": True}
    solved = triangular_solve(factor, adjoint(x), **options)
    solved = triangular_solve(factor, solved, transpose_a=True, conjugate_a=True, **options)
    weight = lax.sub(a, lax.div(b, c))
    return lax.add(_times(lax.div(b, c), x), _times(weight, adjoint(solved)))


def svd_by_polar(
    x: Value,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> tuple[Value, ...]:
    """Return ``(s, u, vh)`` from ``x = u h`` and the eigenvectors of `h`.

    Raises:
      NotImplementedError: another algorithm is asked for.
    """
    if algorithm is not None and algorithm.value not in ("default", "polar"):
        raise NotImplementedError(
            f"svd: given algorithm={algorithm} on this platform, expected DEFAULT or POLAR. Leave "
            "algorithm out."
        )
    m, n = typeof(x).shape[-2:]
    if m < n:
        s, u, v = _tall_svd(adjoint(x), full_matrices)
        u, vh = v, adjoint(u)
    else:
        s, u, v = _tall_svd(x, full_matrices)
        vh = adjoint(v)
    if subset_by_index is not None:
        start, stop = subset_by_index
        s, u = (lax.slice_in_dim(y, start, stop, axis=-1) for y in (s, u))
        vh = lax.slice_in_dim(vh, start, stop, axis=-2)
    return (s, u, vh) if compute_uv else (s,)


def _tall_svd(x: Value, full_matrices: bool) -> tuple[Value, Value, Value]:
    n = typeof(x).shape[-1]
    u, h, _, _ = qdwh(x)
    v, w = eigh(h, symmetrize_input=False)
    v, w = lax.rev(v, (typeof(v).ndim - 1,)), lax.rev(w, (typeof(w).ndim - 1,))
    # Columns of vanishing singular values are not orthonormal yet: QR replaces them. It may turn
    # the signs of the others, which the diagonal of R tells.
    q, r = qr(matmul(u, v), full_matrices=full_matrices)
    turned = lax.lt(real_part(diagonal(r)), real_part(lax.full_like(diagonal(r), 0)))
    ones = lax.full_like(w, 1)
    signs = lax.select(turned, lax.neg(ones), ones)
    extra = typeof(q).shape[-1] - n
    if extra:
        config = [(0, 0, 0)] * (typeof(signs).ndim - 1) + [(0, extra, 0)]
        signs = lax.pad(signs, typeof(signs).dtype.type(1), config)
    return lax.max(w, lax.full_like(w, 0)), times_columns(q, signs), v
