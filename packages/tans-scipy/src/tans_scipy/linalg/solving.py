"""Solution of linear systems, from factors or directly."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.linalg.factors import cholesky
from tans_scipy.linalg.operands import check_square
from tans_xla import composite

type Array = Any

_KINDS = ("gen", "sym", "her", "pos")


def _as_columns(name: str, a: Array, b: Array) -> tuple[Array, Array, bool]:
    """Return `a` and `b` with equal batch dimensions and `b` as columns, and if it was a vector."""
    n = check_square(name, a)
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    if b.ndim < 2 or b.shape[-2] != n:
        raise ValueError(
            f"{name}: given matrices of shape {a.shape} and a right-hand side of shape {b.shape}, "
            f"expected [{n}] or [..., {n}, k]. Add a dimension with b[..., None]."
        )
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = jnp.broadcast_to(a, (*batch, n, n)), jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    return a, b, is_vector


def _triangular(a: Array, b: Array, **options: Any) -> Array:
    return lax.linalg.triangular_solve(a, b, left_side=True, **options)


@composite(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(
    a: Any, b: Any, *, trans: int | str, lower: bool, unit_diagonal: bool
) -> Array:
    a, b = map(jnp.asarray, promote_dtypes_inexact("solve_triangular", a, b))
    a, b, is_vector = _as_columns("solve_triangular", a, b)
    out = _triangular(
        a, b, lower=lower, unit_diagonal=unit_diagonal, transpose_a=trans in (1, 2, "T", "C"),
        conjugate_a=trans in (2, "C") and dtypes.is_complex(a.dtype),
    )  # fmt: skip
    return out[..., 0] if is_vector else out


def solve_triangular(
    a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False,
    unit_diagonal: bool = False, overwrite_b: bool = False, debug: Any = None,
    check_finite: bool = True,
) -> Array:  # fmt: skip
    """Solve ``a x = b`` for a triangular `a`.

    Args:
      a: [..., n, n]; the other triangle is not read.
      b: [n] or [..., n, k].
      trans: 0 or "N"; 1 or "T" to use the transpose of `a`; 2 or "C" its conjugate.
      lower: whether `a` is lower triangular.
      unit_diagonal: whether ones stand for the diagonal.
      overwrite_b: not used.
      debug: not used.
      check_finite: not used.

    Raises:
      ValueError: shapes that do not fit, or an unknown `trans`.

    Example:
      >>> solve_triangular(jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([2.0, 2.0]),
      ...                  lower=True).tolist()
      [1.0, 1.0]
    """
    del overwrite_b, debug, check_finite
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(
            f"solve_triangular: given trans={trans!r}, expected 0, 1, 2, 'N', 'T' or 'C'. Use 0."
        )
    return _solve_triangular(
        a, b, trans=trans, lower=bool(lower), unit_diagonal=bool(unit_diagonal)
    )


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Return the Cholesky factor for `cho_solve`.

    Args:
      a: [..., n, n], Hermitian and positive definite; the upper triangle is read, or the lower.
      lower: whether to use the lower triangle.
      overwrite_a: not used.
      check_finite: not used.

    Returns:
      The factor, and `lower`.
    """
    del overwrite_a, check_finite
    return cholesky(a, lower=lower), lower


@composite(static_argnames=("lower",))
def _cho_solve(c: Any, b: Any, *, lower: bool) -> Array:
    c, b = map(jnp.asarray, promote_dtypes_inexact("cho_solve", c, b))
    c, b, is_vector = _as_columns("cho_solve", c, b)
    is_complex = dtypes.is_complex(c.dtype)
    b = _triangular(c, b, lower=lower, transpose_a=not lower, conjugate_a=is_complex and not lower)
    b = _triangular(c, b, lower=lower, transpose_a=lower, conjugate_a=is_complex and lower)
    return b[..., 0] if is_vector else b


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:  # fmt: skip
    """Solve ``a x = b`` from the Cholesky factor of `a`.

    Args:
      c_and_lower: what `cho_factor` returns.
      b: [n] or [..., n, k].
      overwrite_b: not used.
      check_finite: not used.

    Raises:
      ValueError: shapes that do not fit.

    Example:
      >>> cho_solve(cho_factor(jnp.eye(2) * 4), jnp.array([4.0, 8.0])).tolist()
      [1.0, 2.0]
    """
    del overwrite_b, check_finite
    factor, lower = c_and_lower
    return _cho_solve(factor, b, lower=bool(lower))


@composite
def _lu_factor(a: Any) -> tuple[Array, Array]:
    (a,) = promote_dtypes_inexact("lu_factor", a)
    if typeof(a).ndim < 2:
        raise TypeError(
            f"lu_factor: given an array of shape {typeof(a).shape}, expected matrices [..., m, n]. "
            "Add a dimension, or pass a matrix."
        )
    factors, pivots, _ = lax.linalg.lu(jnp.asarray(a))
    return factors, pivots


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Return the LU factors and pivots for `lu_solve`.

    Args:
      a: [..., m, n]; square matrices if systems are to be solved.
      overwrite_a: not used.
      check_finite: not used.

    Returns:
      ``(factors, pivots)``: [..., m, n] and [..., min(m, n)].

    Raises:
      TypeError: fewer than two dimensions.
    """
    del overwrite_a, check_finite
    return _lu_factor(a)


@composite(static_argnames=("trans",))
def _lu_solve(factors: Any, pivots: Any, b: Any, *, trans: int) -> Array:
    factors, b = map(jnp.asarray, promote_dtypes_inexact("lu_solve", factors, b))
    order = lax.linalg.lu_pivots_to_permutation(jnp.asarray(pivots), factors.shape[-1])
    return solve_factored(factors, order, b, trans)


def solve_factored(factors: Array, order: Array, b: Array, trans: int) -> Array:
    """Solve from LU factors and the order of rows that they belong to."""
    factors, b, is_vector = _as_columns("lu_solve", factors, b)
    order = jnp.broadcast_to(order, b.shape[:-1])
    options = {"conjugate_a": trans == 2 and dtypes.is_complex(factors.dtype)}
    if trans == 0:
        b = jnp.take_along_axis(b, order[..., None], -2)
        b = _triangular(factors, b, lower=True, unit_diagonal=True)
        b = _triangular(factors, b, lower=False)
    else:
        b = _triangular(factors, b, lower=False, transpose_a=True, **options)
        b = _triangular(factors, b, lower=True, unit_diagonal=True, transpose_a=True, **options)
        b = jnp.take_along_axis(b, jnp.argsort(order, -1)[..., None], -2)
    return b[..., 0] if is_vector else b


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int = 0,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Array:  # fmt: skip
    """Solve ``a x = b`` from the LU factors of `a`.

    Args:
      lu_and_piv: what `lu_factor` returns.
      b: [n] or [..., n, k].
      trans: 0; 1 to use the transpose of `a`; 2 its conjugate.
      overwrite_b: not used.
      check_finite: not used.

    Raises:
      ValueError: shapes that do not fit, or an unknown `trans`.

    Example:
      >>> lu_solve(lu_factor(jnp.eye(2) * 4), jnp.array([4.0, 8.0])).tolist()
      [1.0, 2.0]
    """
    del overwrite_b, check_finite
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: given trans={trans!r}, expected 0, 1 or 2. Use 0.")
    factors, pivots = lu_and_piv
    return _lu_solve(factors, pivots, b, trans=trans)


@composite
def _solve(a: Any, b: Any) -> Array:
    a, b = map(jnp.asarray, promote_dtypes_inexact("solve", a, b))
    check_square("solve", a)
    factors, _, order = lax.linalg.lu(a)
    return solve_factored(factors, order, b, 0)


def solve(
    a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, debug: bool = False, check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:  # fmt: skip
    """Solve ``a x = b``.

    Args:
      a: [..., n, n].
      b: [n] or [..., n, k].
      lower: for `assume_a` "pos", whether the lower triangle is read.
      overwrite_a: not used.
      overwrite_b: not used.
      debug: not used.
      check_finite: not used.
      assume_a: "gen", "sym", "her" or "pos": what is known of `a`.

    Raises:
      ValueError: shapes that do not fit, or an unknown kind.

    Example:
      >>> solve(jnp.eye(2) * 4, jnp.array([4.0, 8.0])).tolist()
      [1.0, 2.0]
    """
    del overwrite_a, overwrite_b, debug, check_finite
    if assume_a not in _KINDS:
        raise ValueError(
            f"solve: given assume_a={assume_a!r}, expected one of {_KINDS}. Use 'gen'."
        )
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower=lower), b)
    return _solve(a, b)


@composite
def _inv(a: Any) -> Array:
    (a,) = promote_dtypes_inexact("inv", a)
    n = check_square("inv", a)
    return _solve.inline(a, jnp.eye(n, dtype=typeof(a).dtype))


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the inverse of matrices.

    Args:
      a: [..., n, n].
      overwrite_a: not used.
      check_finite: not used.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> inv(jnp.eye(2) * 4).tolist()
      [[0.25, 0.0], [0.0, 0.25]]
    """
    del overwrite_a, check_finite
    return _inv(a)


@composite
def _det(a: Any) -> Array:
    (a,) = promote_dtypes_inexact("det", a)
    check_square("det", a)
    return jnp.linalg.det(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the determinant of matrices.

    Args:
      a: [..., n, n].
      overwrite_a: not used.
      check_finite: not used.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> float(det(jnp.eye(2) * 4))
      16.0
    """
    del overwrite_a, check_finite
    return _det(a)
