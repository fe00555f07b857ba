"""Generalised Hermitian eigenproblems, brought to ordinary ones by a Cholesky factor.

With ``b = L L^H`` and ``y`` the vectors of the ordinary problem of ``c``:

    type 1    a v = w b v    c = L^-1 a L^-H    v = L^-H y
    type 2    a b v = w v    c = L^H a L        v = L^-H y
    type 3    b a v = w v    c = L^H a L        v = L y
"""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, broadcast_shapes, promote_dtypes_inexact
from tans_scipy.linalg.operands import check_square
from tans_xla import composite

type Array = Any


def adjoint(x: Array) -> Array:
    """Return conjugate transposes of matrices [..., m, n]."""
    x = jnp.swapaxes(x, -1, -2)
    return lax.conj(x) if dtypes.is_complex(typeof(x).dtype) else x


def _whole(x: Array, lower: bool) -> Array:
    """Return Hermitian matrices of which one triangle is given."""
    x = x if lower else adjoint(x)
    return jnp.tril(x) + adjoint(jnp.tril(x, -1))


def _divide(factor: Array, x: Array, **options: Any) -> Array:
    return lax.linalg.triangular_solve(factor, x, lower=True, **options)


@composite(static_argnames=("lower", "kind"))
def generalised_eigh(a: ArrayLike, b: ArrayLike, *, lower: bool, kind: int) -> tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors of a generalised problem.

    Args:
      a: [..., n, n], Hermitian.
      b: [..., n, n], Hermitian and positive definite; batches broadcast.
      lower: which triangle of both is read.
      kind: 1, 2 or 3, the problem in the module's table.

    Returns:
      ``(w, v)``: [..., n] in ascending order, and [..., n, n]. The vectors have length 1 in the
      metric `b`, or its inverse for type 3.

    Raises:
      ValueError: the matrices are not square or of two sizes, or their batches don't broadcast.

    References:
      Golub and Van Loan, "Matrix computations", 8.7.
    """
    pair = [jnp.asarray(x) for x in promote_dtypes_inexact("eigh", a, b)]
    for x in pair:
        check_square("eigh", x)
    shapes = [typeof(x).shape for x in pair]
    if shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"eigh: given a of shape {shapes[0]} and b of shape {shapes[1]}, expected matrices of "
            "one size. Slice or pad one."
        )
    batch = broadcast_shapes("eigh", *(s[:-2] for s in shapes))
    a, b = (_whole(jnp.broadcast_to(x, (*batch, *x.shape[-2:])), lower) for x in pair)
    factor = lax.linalg.cholesky(b, symmetrize_input=False)
    back = {"transpose_a": True, "conjugate_a": True}
    if kind == 1:
        ordinary = _divide(factor, _divide(factor, a, left_side=True), left_side=False, **back)
    else:
        ordinary = adjoint(factor) @ a @ factor
    vectors, values = lax.linalg.eigh(ordinary)
    if kind == 3:
        return values, factor @ vectors
    return values, _divide(factor, vectors, left_side=True, **back)
