"""Systems of equations, inverses and determinants."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.partition_spec import PartitionSpec
from tans_lax.linalg.checks import check_matrix
from tans_lax.linalg.determinants import det as lax_det
from tans_lax.linalg.matrices import (
    diagonal,
    identity_like,
    matmul,
    real_dtype,
)
from tans_lax.linalg.orthogonal_factors import qr
from tans_lax.linalg.pseudoinverses import pinv as lax_pinv
from tans_lax.linalg.row_gather import take_rows
from tans_lax.linalg.singular_values import svd
from tans_lax.linalg.triangular_factors import lu
from tans_lax.linalg.triangular_systems import triangular_solve
from tans_lax.mesh.specs import partitions_like
from tans_lax.sizes import scaled_size
from tans_numpy.linalg.checks import check_matrices
from tans_numpy.linalg.results import SlogdetResult
from tans_numpy.manipulation import broadcast_shapes, broadcast_to, moveaxis, reshape
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact, strong
from tans_xla import composite
from tans_xla.sizes import max_size, min_size

type Array = Any


@composite(is_whole=True)
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve ``a @ x = b``.

    Args:
      a: ``[..., n, n]``; integers become the default float.
      b: ``[n]`` or ``[..., n, k]``; leading dimensions broadcast.

    Returns:
      The solutions, of the shape of `b` with broadcast leading dimensions; inf or nan where `a` is
      singular.

    Raises:
      ValueError: the shapes don't fit.

    Example:
      >>> solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0])).tolist()
      [1.0, 0.5]
    """
    check_matrices("linalg.solve", a, square=True)
    check_arraylike("linalg.solve", b)
    n, b_shape = typeof(a).shape[-1], typeof(b).shape
    if not b_shape or b_shape[0 if len(b_shape) == 1 else -2] != n:
        raise ValueError(
            f"linalg.solve: given a of shape {typeof(a).shape} and b of shape {b_shape}, expected "
            "b of shape [n] or [..., n, k]. For a stack of vectors write solve(a, b[..., None])."
        )
    return _solve(a, b)


def _solve(a: Array, b: Array) -> Array:
    a, b = promote_dtypes_inexact("linalg.solve", a, b)
    is_vector = typeof(b).ndim == 1
    if is_vector:
        b = lax.expand_dims(b, (1,))
    batch = broadcast_shapes(typeof(a).shape[:-2], typeof(b).shape[:-2])
    a = broadcast_to(a, (*batch, *typeof(a).shape[-2:]))
    b = broadcast_to(b, (*batch, *typeof(b).shape[-2:]))
    x = solve_by_lu(a, b)
    return lax.squeeze(x, (typeof(x).ndim - 1,)) if is_vector else x


def solve_by_lu(a: Array, b: Array) -> Array:
    """Solve stacks of equal leading dimensions by LU factors with partial pivoting."""
    factors, _, permutation = lu(a)
    left: Any = {"left_side": True}
    y = triangular_solve(factors, take_rows(b, permutation), lower=True, unit_diagonal=True, **left)
    return triangular_solve(factors, y, **left)


@composite(is_whole=True)
def inv(a: ArrayLike) -> Array:
    """Invert matrices; inf or nan where they are singular.

    Args:
      a: ``[..., n, n]``; integers become the default float.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
      [[0.5, 0.0], [0.0, 0.25]]
    """
    check_matrices("linalg.inv", a, square=True)
    (a,) = promote_dtypes_inexact("linalg.inv", a)
    a = strong(a)
    return solve_by_lu(a, identity_like(a))


@composite(static_argnames=("hermitian",), is_whole=True)
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Compute pseudoinverses of Moore and Penrose.

    Args:
      a: ``[..., m, n]``; integers become the default float.
      rtol: singular values up to `rtol` times the largest count as zero; None means ten times the
        larger size times the rounding unit.
      hermitian: whether the matrices are Hermitian, which makes it cheaper.
      rcond: older name of `rtol`.

    Returns:
      ``[..., n, m]``. Its derivative is that for changes which keep the rank.

    Raises:
      ValueError: fewer than two dimensions, or both names of the threshold.

    Example:
      >>> pinv(jnp.array([[2.0], [0.0]])).tolist()
      [[0.5, 0.0]]
    """
    check_matrices("linalg.pinv", a, square=hermitian)
    if rcond is not None:
        if rtol is not None:
            raise ValueError("linalg.pinv: given rtol and rcond, expected one of them. Drop rcond.")
        rtol = rcond
    return _pinv(a, rtol, hermitian=bool(hermitian))


def _pinv(a: Array, rtol: Any, *, hermitian: bool) -> Array:
    (a,) = promote_dtypes_inexact("linalg.pinv", a)
    aval = typeof(a)
    if 0 in aval.shape:
        return lax.full((*aval.shape[:-2], aval.shape[-1], aval.shape[-2]), 0, aval.dtype)
    check_matrix("linalg.pinv", aval)
    a = strong(a)
    dtype = real_dtype(aval.dtype)
    if rtol is None:
        rtol = scaled_size(max_size(*aval.shape[-2:]), 10 * np.finfo(dtype).eps, dtype)
    lies = partitions_like(a)
    if lies is not None:
        lies = lies.update(spec=PartitionSpec(*lies.spec.partitions[:-2]))
    rtol = lax.convert_element_type(rtol, dtype)
    lies = lies if typeof(rtol).ndim == 0 else None
    rtol = broadcast_to(rtol, aval.shape[:-2], out_sharding=lies)
    return lax_pinv(a, lax.stop_gradient(rtol), hermitian=hermitian)


@composite(is_whole=True)
def det(a: ArrayLike) -> Array:
    """Compute determinants; the derivatives are right for singular matrices too.

    Args:
      a: ``[..., n, n]``; integers become the default float.

    Returns:
      ``[...]``.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> float(det(jnp.array([[3.0, 1.0], [1.0, 2.0]])))
      5.0
    """
    check_matrices("linalg.det", a, square=True)
    (a,) = promote_dtypes_inexact("linalg.det", a)
    n = typeof(a).shape[-1]
    return _small_det(a, n) if 1 <= n <= 3 else lax_det(a)


def _small_det(a: Array, n: int) -> Array:
    """Expand by the first row: exact derivatives of all orders, and no factorization."""
    batch = typeof(a).shape[:-2]

    def at(i: int, j: int) -> Array:
        axis = len(batch)
        starts, limits = [0] * axis + [i, j], [*batch, i + 1, j + 1]
        return lax.reshape(lax.slice(a, starts, limits), batch)

    def two(i: int, j: int, k: int, m: int) -> Array:
        return lax.sub(lax.mul(at(i, k), at(j, m)), lax.mul(at(i, m), at(j, k)))

    if n == 1:
        return at(0, 0)
    if n == 2:
        return two(0, 1, 0, 1)
    first, second, third = (
        lax.mul(at(0, j), two(1, 2, *(k for k in range(3) if k != j))) for j in range(3)
    )
    return lax.add(lax.sub(first, second), third)


@composite(static_argnames=("method",), is_whole=True)
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Compute sign and logarithm of the magnitude of determinants, without overflow.

    Args:
      a: ``[..., n, n]``; integers become the default float. Half precision up to n = 2.
      method: "lu" (the default) or "qr", the factorization.

    Returns:
      ``(sign, logabsdet)``: for complex matrices the sign is a number of magnitude one; zero and
      -inf for singular ones.

    Raises:
      ValueError: the matrices are not square, or the method is unknown.

    Example:
      >>> sign, logabsdet = slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
      >>> float(sign), float(logabsdet)
      (-1.0, 0.0)
    """
    check_matrices("linalg.slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"linalg.slogdet: given method={method!r}, expected None, 'lu' or 'qr'. Leave it out."
        )
    return SlogdetResult(*_slogdet(a, method=method or "lu"))


def _slogdet(a: Array, *, method: str) -> tuple[Array, Array]:
    (a,) = promote_dtypes_inexact("linalg.slogdet", a)
    a = strong(a)
    if method == "qr":
        q, r = qr(a)
        return _sign_and_log(diagonal(r), lax_det(q))
    dtype = typeof(a).dtype
    if dtype.itemsize < 4 and typeof(a).shape[-1] <= 2:  # which no factorization takes
        wide = _slogdet(lax.convert_element_type(a, np.dtype(np.float32)), method=method)
        sign, log = (lax.convert_element_type(x, dtype) for x in wide)
        return sign, log
    factors, pivots, _ = lu(a)
    aval = typeof(pivots)
    rows = lax.broadcasted_iota(aval.dtype, aval.shape, aval.ndim - 1)
    moved = lax.convert_element_type(lax.ne(pivots, rows), np.int32)
    odd = lax.rem(lax.reduce_sum(moved, (aval.ndim - 1,)), np.int32(2))
    parity = lax.sub(dtype.type(1), lax.mul(dtype.type(2), lax.convert_element_type(odd, dtype)))
    return _sign_and_log(diagonal(factors), parity)


def _sign_and_log(factors: Array, sign: Array) -> tuple[Array, Array]:
    axis = typeof(factors).ndim - 1
    signs = lax.reduce_prod(lax.sign(factors), (axis,))
    return lax.mul(sign, signs), lax.reduce_sum(lax.log(lax.abs(factors)), (axis,))


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Minimise ``norm(a @ x - b)``; of all solutions the shortest one.

    Args:
      a: ``[m, n]``.
      b: ``[m]`` or ``[m, k]``.
      rcond: singular values up to `rcond` times the largest count as zero; None means the larger
        size times the rounding unit.
      numpy_resid: whether the residuals are empty, as in NumPy, where they aren't unique or the
        rank isn't full (the shape then depends on values, so not under `jit`).

    Returns:
      ``(x, residuals, rank, s)``: ``[n]`` or ``[n, k]``, sums of squares ``[k]`` (or ``[1]``), the
      rank, and the singular values of `a`.

    Raises:
      TypeError: `a` or `b` has another number of dimensions.
      ValueError: `a` and `b` have different numbers of rows.

    Example:
      >>> x, residuals, rank, s = lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
      >>> round(float(x[0]), 4), round(float(residuals[0]), 4)
      (2.0, 2.0)
    """
    check_arraylike("linalg.lstsq", a, b)
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    if len(a_shape) != 2 or len(b_shape) not in (1, 2):
        raise TypeError(
            f"linalg.lstsq: given shapes {a_shape} and {b_shape}, expected [m, n] and [m] or "
            "[m, k]. Map over leading dimensions with vmap."
        )
    if a_shape[0] != b_shape[0]:
        raise ValueError(
            f"linalg.lstsq: given shapes {a_shape} and {b_shape}, expected equal numbers of rows. "
            "Transpose one operand."
        )
    x, residuals, rank, s = _lstsq(a, b, rcond)
    if numpy_resid and (a_shape[0] <= a_shape[1] or int(rank) < a_shape[1]):
        residuals = lax.full((0,), 0, typeof(residuals).dtype)
    return x, residuals, rank, s


@composite(is_whole=True)
def _lstsq(a: Array, b: Array, rcond: Any) -> tuple[Array, Array, Array, Array]:
    a, b = map(strong, promote_dtypes_inexact("linalg.lstsq", a, b))
    m, n = typeof(a).shape
    dtype = real_dtype(typeof(a).dtype)
    if rcond is None:
        rcond = scaled_size(max_size(m, n), np.finfo(dtype).eps, dtype)
    else:
        # As in NumPy, a negative threshold means the rounding unit.
        rcond = lax.convert_element_type(rcond, dtype)
        unit = lax.full_like(rcond, np.finfo(dtype).eps)
        rcond = lax.select(lax.lt(rcond, lax.full_like(rcond, 0)), unit, rcond)
    is_vector = typeof(b).ndim == 1
    columns = lax.expand_dims(b, (1,)) if is_vector else b
    x = matmul(lax_pinv(a, lax.stop_gradient(rcond)), columns)
    s = svd(a, full_matrices=False, compute_uv=False)
    if min_size(m, n):
        kept = lax.gt(s, lax.mul(lax.slice_in_dim(s, 0, 1), rcond))
        rank = lax.reduce_sum(lax.convert_element_type(kept, np.int32), (0,))
    else:
        rank = lax.full((), 0, np.int32)
    rest = lax.abs(lax.sub(columns, matmul(a, x)))
    residuals = lax.reduce_sum(lax.square(rest), (0,))
    return lax.squeeze(x, (1,)) if is_vector else x, residuals, rank, s


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Invert an array with respect to `tensordot`.

    Args:
      a: any shape whose first `ind` sizes have the same product as the others.
      ind: number of first dimensions that make up the rows.

    Returns:
      Shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises:
      ValueError: `ind` is not positive, or the products differ.

    Example:
      >>> tensorinv(jnp.reshape(jnp.eye(6), (2, 3, 3, 2))).shape
      (3, 2, 2, 3)
    """
    check_arraylike("linalg.tensorinv", a)
    shape = typeof(a).shape
    rows, columns = shape[:ind], shape[ind:]
    if ind <= 0 or math.prod(rows) != math.prod(columns):
        raise ValueError(
            f"linalg.tensorinv: given shape {shape} and ind={ind}, expected a positive ind that "
            "splits the sizes into two equal products. Choose another ind."
        )
    size = math.prod(rows)
    return reshape(inv(reshape(a, (size, size))), (*columns, *rows))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Args:
      a: shape ``b.shape + x.shape``, with the same number of elements in both parts.
      b: any shape.
      axes: dimensions of `a` to move to the end first.

    Returns:
      `x`.

    Raises:
      ValueError: the two parts of `a` differ in size.

    Example:
      >>> tensorsolve(jnp.reshape(jnp.eye(6), (2, 3, 6)), jnp.ones((2, 3))).shape
      (6,)
    """
    check_arraylike("linalg.tensorsolve", a, b)
    if axes is not None:
        ndim = typeof(a).ndim
        a = moveaxis(a, tuple(axes), tuple(range(ndim - len(axes), ndim)))
    shape = typeof(a).shape[typeof(b).ndim :]
    size = math.prod(shape)
    if typeof(a).size != size**2 or typeof(b).size != size:
        raise ValueError(
            f"linalg.tensorsolve: given shapes {typeof(a).shape} and {typeof(b).shape}, expected "
            "a.shape == b.shape + x.shape with as many elements in b as in x. Move dimensions of "
            "a with axes."
        )
    return reshape(solve(reshape(a, (size, size)), reshape(b, (-1,))), shape)
