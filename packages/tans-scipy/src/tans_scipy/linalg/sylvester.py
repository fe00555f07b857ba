"""The Sylvester equation, through the Schur forms of its matrices."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.linalg.operands import as_complex, inexact_square
from tans_scipy.linalg.solving import solve_triangular
from tans_xla import composite

type Array = Any


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Solve ``A X + X B = C``.

    Args:
      A: [m, m].
      B: [n, n].
      C: [m, n].
      method: "schur" or "eigen"; Schur forms are used for both.
      tol: where an eigenvalue of `A` and one of `-B` are closer than this, or equal up to rounding
        errors, the result is nan.

    Returns:
      X [m, n].

    Raises:
      ValueError: shapes that do not fit, or an unknown method.

    References:
      Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972.
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: given method={method!r}, expected 'schur' or 'eigen'.")
    A, B = inexact_square("solve_sylvester", A), inexact_square("solve_sylvester", B)
    if typeof(C).shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"solve_sylvester: given C of shape {typeof(C).shape}, expected "
            f"{(A.shape[0], B.shape[0])}."
        )
    A, B, C = promote_dtypes_inexact("solve_sylvester", A, B, C)
    return _sylvester(A, B, C, tol)


@composite
def _sylvester(A: Any, B: Any, C: Any, tol: Any) -> Array:
    dtype = typeof(A).dtype
    R, U = lax.linalg.schur(as_complex(A))
    S, V = lax.linalg.schur(as_complex(B))
    F = jnp.conj(U).T @ as_complex(C) @ V
    m, n = F.shape
    identity = jnp.eye(m, dtype=R.dtype)

    def column(Y: Array, k: Array) -> tuple[Array, None]:
        rhs = F[:, k] - Y @ jnp.where(jnp.arange(n) < k, S[:, k], 0)
        return Y.at[:, k].set(solve_triangular(R + S[k, k] * identity, rhs)), None

    Y, _ = lax.scan(column, jnp.zeros_like(F), jnp.arange(n))
    X = U @ Y @ jnp.conj(V).T
    gaps = jnp.abs(jnp.diagonal(R)[:, None] + jnp.diagonal(S)[None])
    # Equal eigenvalues are found as equal up to the rounding errors of the two Schur forms.
    rounding = 8 * jnp.finfo(R.dtype).eps * (jnp.linalg.norm(R) + jnp.linalg.norm(S))
    X = jnp.where(jnp.min(gaps, initial=jnp.inf) < jnp.maximum(tol, rounding), jnp.nan, X)
    return X if dtypes.is_complex(dtype) else jnp.real(X)
