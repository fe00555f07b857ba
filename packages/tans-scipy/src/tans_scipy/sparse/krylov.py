"""Corrections in Krylov spaces: what a restart of GMRES does. Vectors are pytrees of arrays."""

from collections.abc import Callable
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import tree, typeof

type Vector = Any  # pytree of arrays
type Operator = Callable[[Vector], Vector]


def dot(x: Vector, y: Vector) -> Any:
    """Return the real part of the inner product: what real and complex methods share."""
    parts = tree.map(lambda a, b: jnp.vdot(a, b, precision=lax.Precision.HIGHEST), x, y)
    return sum(tree.leaves(parts))


def norm(x: Vector) -> Any:
    """Return the root of the sum of squares of all elements."""
    return jnp.sqrt(jnp.real(dot(x, x)))


def scaled(scale: Any, x: Vector) -> Vector:
    """Return ``scale * x``."""
    return tree.map(lambda a: scale * a, x)


def _extended(
    matvec: Operator, basis: Vector, k: Any, space: int, dtype: Any
) -> tuple[Vector, Any]:
    """Return a basis with one more vector, and the coefficients of the operator's k-th image."""
    w = matvec(tree.map(lambda v: v[k], basis))
    scale = norm(w)
    coefficients = jnp.zeros(space + 1, dtype)
    for _ in range(2):  # once more, against rounding
        parts = tree.map(lambda v, u: jnp.tensordot(v.conj(), u, u.ndim), basis, w)
        found = sum(tree.leaves(parts))
        w = tree.map(lambda u, v: u - jnp.tensordot(found, v, 1), w, basis)  # noqa: B023
        coefficients = coefficients + found
    length = norm(w)
    # A vector within the space up to rounding: the space is complete.
    length = jnp.where(length <= scale * 10 * jnp.finfo(dtype).eps, 0, length)
    new = scaled(jnp.where(length == 0, 0, 1 / jnp.where(length == 0, 1, length)), w)
    basis = tree.map(lambda v, u: v.at[k + 1].set(u), basis, new)
    return basis, coefficients.at[k + 1].set(length.astype(dtype))


def _first_basis(r: Vector, space: int) -> tuple[Vector, Any, Any]:
    """Return a basis whose first vector is the direction of the residual, its length, a dtype."""
    length = norm(r)
    first = scaled(1 / jnp.where(length == 0, 1, length), r)
    basis = tree.map(lambda v: jnp.zeros((space + 1, *v.shape), v.dtype).at[0].set(v), first)
    return basis, length, typeof(dot(r, r)).dtype


def _combined(y: Any, basis: Vector) -> Vector:
    return tree.map(lambda v: jnp.tensordot(y, v[:-1], 1), basis)


def batched(matvec: Operator, r: Vector, space: int, bound: Any) -> Vector:
    """Return the correction in a Krylov space that makes the residual smallest."""
    del bound
    basis, length, dtype = _first_basis(r, space)

    def extend(state: tuple, k: Any) -> tuple[tuple, None]:
        basis, h = state
        basis, column = _extended(matvec, basis, k, space, dtype)
        return (basis, h.at[:, k].set(column)), None

    h = jnp.zeros((space + 1, space), dtype)
    (basis, h), _ = lax.scan(extend, (basis, h), jnp.arange(space))
    target = jnp.zeros(space + 1, dtype).at[0].set(length.astype(dtype))
    return _combined(jnp.linalg.lstsq(h, target)[0], basis)


def _rotated(h: Any, i: Any, c: Any, s: Any) -> Any:
    """Turn the elements i and i + 1 of a vector."""
    return h.at[i].set(c * h[i] + s * h[i + 1]).at[i + 1].set(c * h[i + 1] - s.conj() * h[i])


def incremental(matvec: Operator, r: Vector, space: int, bound: Any) -> Vector:
    """Return the same correction; the space stops to grow where the residual is small enough.

    The least-squares problem is kept triangular by a rotation per vector; the last element of its
    right-hand side is the residual.
    """
    basis, length, dtype = _first_basis(r, space)

    def unfinished(state: tuple) -> Any:
        *_, target, k = state
        return (k < space) & (jnp.abs(target[k]) > bound)

    def extend(state: tuple) -> tuple:
        basis, triangle, c, s, target, k = state
        basis, column = _extended(matvec, basis, k, space, dtype)
        column = lax.fori_loop(0, k, lambda i, v: _rotated(v, i, c[i], s[i]), column)
        size = jnp.abs(column[k])
        radius = jnp.hypot(size, jnp.abs(column[k + 1]))
        is_zero = size == 0
        phase = jnp.where(is_zero, 1, column[k] / jnp.where(is_zero, 1, size).astype(dtype))
        safe = jnp.where(radius == 0, 1, radius).astype(dtype)
        new_c = jnp.where(radius == 0, 1, size.astype(dtype) / safe)
        new_s = phase * column[k + 1] / safe
        column, target = (_rotated(v, k, new_c, new_s) for v in (column, target))
        triangle = triangle.at[:, k].set(column[:-1])
        return basis, triangle, c.at[k].set(new_c), s.at[k].set(new_s), target, k + 1

    zeros = jnp.zeros(space, dtype)
    target = jnp.zeros(space + 1, dtype).at[0].set(length.astype(dtype))
    start = (basis, jnp.eye(space, dtype=dtype), zeros, zeros, target, 0)
    basis, triangle, _, _, target, k = lax.while_loop(unfinished, extend, start)
    diagonal = jnp.diagonal(triangle)
    counts = (jnp.arange(space) < k) & (diagonal != 0)
    triangle = triangle + jnp.diag((diagonal == 0).astype(dtype))
    right = jnp.where(counts, target[:-1], 0)
    y = lax.linalg.triangular_solve(triangle, right[:, None], left_side=True)[:, 0]
    return _combined(y, basis)
