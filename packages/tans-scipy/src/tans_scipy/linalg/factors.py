"""Factorisations with SciPy's options."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.linalg.generalised import adjoint, generalised_eigh
from tans_scipy.linalg.operands import check_square
from tans_xla import composite

type Array = Any


@composite(static_argnames=("lower",))
def _cholesky(a: Any, *, lower: bool) -> Array:
    (a,) = promote_dtypes_inexact("cholesky", a)
    check_square("cholesky", a)
    a = jnp.asarray(a) if lower else adjoint(jnp.asarray(a))
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Return the Cholesky factor.

    Args:
      a: [..., n, n], Hermitian and positive definite; the upper triangle is read, or the lower.
      lower: whether to return the lower factor.
      overwrite_a: not used.
      check_finite: not used.

    Returns:
      Array [..., n, n]; nan where the matrix is not positive definite.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> cholesky(jnp.eye(2) * 4).tolist()
      [[2.0, 0.0], [0.0, 2.0]]
    """
    del overwrite_a, check_finite
    return _cholesky(a, lower=bool(lower))


@composite(static_argnames=("permute_l",))
def _lu(a: Any, *, permute_l: bool) -> tuple[Array, ...]:
    (a,) = promote_dtypes_inexact("lu", a)
    factors, _, order = lax.linalg.lu(jnp.asarray(a))
    m, n = factors.shape[-2:]
    k = min(m, n)
    dtype = factors.dtype
    lower = jnp.tril(factors, -1)[..., :, :k] + jnp.eye(m, k, dtype=dtype)
    upper = jnp.triu(factors)[..., :k, :]
    rows = jnp.equal(jnp.arange(m)[:, None], order[..., None, :])
    # Real also for complex matrices.
    permutation = rows.astype(dtype.type(0).real.dtype)
    return (permutation @ lower, upper) if permute_l else (permutation, lower, upper)


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Return the LU factorisation with its permutation.

    Args:
      a: [..., m, n].
      permute_l: return ``(p @ l, u)`` instead of ``(p, l, u)``.
      overwrite_a: not used.
      check_finite: not used.

    Returns:
      Matrices whose product is `a`.
    """
    del overwrite_a, check_finite
    return _lu(a, permute_l=bool(permute_l))


def qr(
    a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
    pivoting: bool = False, check_finite: bool = True,
) -> tuple[Array, ...]:  # fmt: skip
    """Return the QR factorisation.

    Args:
      a: [..., m, n].
      overwrite_a: not used.
      lwork: not used.
      mode: "full", "economic", or "r" for the second factor alone.
      pivoting: also permute columns, and return their order.
      check_finite: not used.

    Raises:
      ValueError: an unknown mode.
    """
    del overwrite_a, lwork, check_finite
    if mode not in ("full", "economic", "r"):
        raise ValueError(
            f"qr: given mode={mode!r}, expected 'full', 'economic' or 'r'. Use 'economic'."
        )
    (a,) = promote_dtypes_inexact("qr", a)
    out = lax.linalg.qr(jnp.asarray(a), pivoting=bool(pivoting), full_matrices=mode != "economic")
    return tuple(out[1:]) if mode == "r" else tuple(out)


def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Return the singular value decomposition.

    Args:
      a: [..., m, n].
      full_matrices: whether the outer factors are square.
      compute_uv: whether to return them.
      overwrite_a: not used.
      check_finite: not used.
      lapack_driver: not used.

    Returns:
      ``(u, s, vh)``, or `s` alone.
    """
    del overwrite_a, check_finite, lapack_driver
    (a,) = promote_dtypes_inexact("svd", a)
    out = lax.linalg.svd(
        jnp.asarray(a), full_matrices=bool(full_matrices), compute_uv=bool(compute_uv)
    )
    if isinstance(out, tuple | list):
        return tuple(out) if compute_uv else out[0]
    return out


def eigh(
    a: ArrayLike, b: ArrayLike | None = None, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: None = None,
    type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: [..., n, n]; the lower triangle is read, or the upper.
      b: [..., n, n], positive definite, for a generalised problem; batches broadcast.
      lower: which triangle of `a` and `b` is read.
      eigvals_only: return the eigenvalues alone.
      overwrite_a: not used.
      overwrite_b: not used.
      turbo: not used.
      eigvals: not supported.
      type: of the generalised problem: 1 for ``a v = w b v``, 2 for ``a b v = w v``, 3 for
        ``b a v = w v``.
      check_finite: not used.

    Returns:
      ``(w, v)``: [..., n] in ascending order, and [..., n, n] with vectors as columns.

    Raises:
      NotImplementedError: `eigvals` is given.
      ValueError: `type` is not 1, 2 or 3, or the shapes don't fit.
    """
    del overwrite_a, overwrite_b, turbo, check_finite
    if eigvals is not None:
        raise NotImplementedError(
            f"eigh: given eigvals={eigvals!r}, expected None: all are computed. Slice the results."
        )
    if type not in (1, 2, 3):
        raise ValueError(
            f"eigh: given type={type!r}, expected 1, 2 or 3. Leave it out for a v = w b v."
        )
    if b is not None:
        values, vectors = generalised_eigh(a, b, lower=bool(lower), kind=int(type))
        return values if eigvals_only else (values, vectors)
    (a,) = promote_dtypes_inexact("eigh", a)
    vectors, values = lax.linalg.eigh(jnp.asarray(a), lower=bool(lower))
    return values if eigvals_only else (values, vectors)
